"""TF-IDF of documents: title and text as one field, and the title as one more; or features that came ready."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.data.dataset import Documents
from everylabel.errors import DataError
from everylabel.run import QUIET, Run
from everylabel.text.hashed import HashedTexts
from everylabel.text.lemmas import check_language
from everylabel.text.scripts import composed
from everylabel.text.tfidf import Tfidf, TfidfConfig, limits
from everylabel.types import Csr
from everylabel.vectors import side_by_side, unit_rows


def check_reading(config: TfidfConfig, language: str) -> None:
    """Of methods that read words by both."""
    config.check()
    check_language(language)


class DocumentFeatures:
    """TF-IDF of documents: title and text as one field, and the title as one more; or features that came ready."""

    def __init__(self, config: TfidfConfig) -> None:
        self.config = config
        self.fields_: dict[str, Tfidf] = {}
        self.n_features_ = 0

    @property
    def key(self) -> Hashable:
        """What decides how a document is read."""
        return (
            *((name, tfidf.key) for name, tfidf in self.fields_.items()),
            self.n_features_,
            self.config.title_weight,
        )

    def fit_transform(self, documents: Documents, run: Run = QUIET) -> Csr:
        self.config.check()
        if documents.features is not None:
            self.n_features_ = documents.features.shape[1]
            return self._given(documents)
        names = ["all", "title"] if self.config.title_weight > 0 and any(documents.titles) else ["all"]
        ngrams, min_df = limits(self.config, documents.texts)
        config = replace(self.config, ngrams=ngrams, min_df=min_df)  # the same for titles, which are short
        blocks = []
        for name in names:
            self.fields_[name] = Tfidf(config=config)
            blocks.append(self.fields_[name].fit_transform(field_of(documents, name), run))
        if not any(tfidf.n_terms for tfidf in self.fields_.values()):
            raise DataError(
                f"no word of the {len(documents)} training documents is left to learn from: are their texts empty? "
                "Otherwise lower tfidf.min_df (--set tfidf.min_df=1) or raise tfidf.max_df"
            )
        return self.joined(blocks)

    def transform(self, documents: Documents) -> Csr:
        if not self.fields_:
            return self._given(documents)
        if documents.features is not None:
            raise DataError("this model reads texts, and these documents are a bag of words; give documents with texts")
        return self._of_texts({name: field_of(documents, name) for name in self.fields_})

    def _of_texts(self, fields: Mapping[str, list[str]]) -> Csr:
        return self.joined([tfidf.transform(fields[name]) for name, tfidf in self.fields_.items()])

    def transform_hashed(self, fields: Mapping[str, HashedTexts]) -> Csr:
        """As `transform`, of fields ("all", "title") whose words are hashed."""
        return self.joined([tfidf.transform_hashed(fields[name]) for name, tfidf in self.fields_.items()])

    def reweighed(self, rows: Csr, fields: dict[str, Tfidf]) -> list[Csr]:
        """Rows by these features, field by field, as wider vocabularies weigh them, which begin with the same terms.
        O(nnz of the rows)."""
        blocks, first = [], 0
        for name, tfidf in self.fields_.items():
            new = fields[name]
            own = rows[:, first : first + tfidf.n_terms].tocsr()
            ratio = (new.idf_[: tfidf.n_terms] / tfidf.idf_).astype(np.float32)
            shape = (rows.shape[0], new.n_terms)
            blocks.append(unit_rows(csr_matrix((own.data * ratio[own.indices], own.indices, own.indptr), shape=shape)))
            first += tfidf.n_terms
        return blocks

    @property
    def names(self) -> list[str]:
        """The words behind the columns; empty for features that came ready."""
        return [name for tfidf in self.fields_.values() for name in tfidf.names_]

    def state(self, prefix: str) -> dict[str, Any]:
        state: dict[str, Any] = {f"{prefix}/fields": list(self.fields_), f"{prefix}/n_features": self.n_features_}
        for name, tfidf in self.fields_.items():
            state.update({f"{prefix}/{name}/{key}": value for key, value in tfidf.state().items()})
        return state

    def restore(self, prefix: str, state: dict[str, Any]) -> Self:
        self.n_features_ = state[f"{prefix}/n_features"]
        for name in state[f"{prefix}/fields"]:
            own = {key: state[f"{prefix}/{name}/{key}"] for key in ("ngrams", "names", "idf", "hashes")}
            self.fields_[name] = Tfidf(config=self.config).restore(own)
        return self

    def check(self) -> None:
        """Of one that was restored."""
        checks.whole(self.n_features_, "n_features", most=(1 << 31) - 1)
        checks.require(list(self.fields_) in ([], ["all"], ["all", "title"]), "fields must be 'all', and then 'title'")
        for tfidf in self.fields_.values():
            tfidf.check()

    @property
    def n_columns(self) -> int:
        return sum(tfidf.n_terms for tfidf in self.fields_.values()) if self.fields_ else self.n_features_

    def _given(self, documents: Documents) -> Csr:
        if documents.features is None:
            raise DataError(
                "this model was fitted on a bag of words, not on texts; give documents in the same format "
                "(--features, where it had ready features beside the texts)"
            )
        if documents.features.shape[1] != self.n_features_:
            raise DataError(
                f"this model was fitted on {self.n_features_} features; "
                f"got documents with {documents.features.shape[1]}"
            )
        features = csr_matrix(documents.features, dtype=np.float32, copy=True)
        features.sum_duplicates()
        if not np.isfinite(features.data).all():
            raise DataError("features must be finite numbers; there are infinite ones or NaN among them: remove those")
        return unit_rows(features)

    def joined(self, blocks: list[Csr]) -> Csr:
        """The fields' rows side by side, each row of length 1."""
        if len(blocks) == 1:
            return blocks[0]
        body, titles = blocks
        titles.data = titles.data * np.float32(self.config.title_weight)
        return unit_rows(side_by_side(body, titles))


def field_of(documents: Documents, name: str) -> list[str]:
    return list(map(composed, documents.titles if name == "title" else documents.full_texts))
