"""Documents that came after a fit, read without reading what was fitted anew: n-grams that nobody knew, and how often.

Features of a fit weigh as they do until everything is put together (`Appended.merged`); what came later is kept as
counts, so that its own n-grams can be weighed by how rare they are among all of it, however many documents came at a
time. Of few texts nobody can tell a new n-gram from one that the fit left out since every text has it: fewer than
`LEAST_NEW_TEXTS` have none, and one that more than `LARGEST_NEW_SHARE` of them have is none.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse import vstack as stack_rows

from everylabel import checks
from everylabel.data.dataset import Documents
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.features import DocumentFeatures, field_of
from everylabel.text.hashed import HashedTexts
from everylabel.text.tfidf import Tfidf, idf_of
from everylabel.types import Csr, LongArray
from everylabel.vectors import csr_of, side_by_side

LEAST_NEW_TEXTS = 10  # that new n-grams are taken from
LARGEST_NEW_SHARE = 0.25  # of these texts that a new n-gram may occur in
_READY = "rows"  # the only field of features that came ready


class GrownFeatures(DocumentFeatures):
    """Those of a fit, and n-grams that came later: their columns stand after all of the fit's."""

    def __init__(self, old: DocumentFeatures, more: Mapping[str, Tfidf]) -> None:
        super().__init__(old.config)
        self.fields_, self.n_features_ = old.fields_, old.n_features_
        self.old, self.more = old, dict(more)

    @property
    def key(self) -> Hashable:
        return super().key, *((name, tfidf.key) for name, tfidf in self.more.items())

    @property
    def n_columns(self) -> int:
        return self.old.n_columns + sum(tfidf.n_terms for tfidf in self.more.values())

    @property
    def names(self) -> list[str]:
        return super().names + [name for tfidf in self.more.values() for name in tfidf.names_]

    def transform_hashed(self, fields: Mapping[str, HashedTexts]) -> Csr:
        return self.weighed(
            {
                name: side_by_side(tfidf.counts_hashed(fields[name]), self.more[name].counts_hashed(fields[name]))
                for name, tfidf in self.fields_.items()
            }
        )

    def _of_texts(self, fields: Mapping[str, list[str]]) -> Csr:
        return self.weighed(
            {
                name: side_by_side(tfidf.counts(fields[name]), self.more[name].counts(fields[name]))
                for name, tfidf in self.fields_.items()
            }
        )

    def weighed(self, counts: Mapping[str, Csr]) -> Csr:
        """Of counts of each field's n-grams, later ones after those of the fit: rows of length 1. The same bits as by
        the fit where no later one occurs."""
        blocks = [_weighed(counts[name], tfidf, self.more[name]) for name, tfidf in self.fields_.items()]
        return self._as_columns(self.joined(blocks))

    def _as_columns(self, rows: Csr) -> Csr:
        """From field by field to the fit's columns first. O(nnz)."""
        if len(self.fields_) == 1:
            return rows
        (body, titles), (more, _) = self.fields_.values(), self.more.values()
        columns, n, n_all = rows.indices, body.n_terms, body.n_terms + titles.n_terms
        where = [columns < n, columns < n + more.n_terms, columns < n_all + more.n_terms]
        columns = np.select(where, [columns, columns + titles.n_terms, columns - more.n_terms], columns)
        found = csr_of(rows.data, columns.astype(np.int32), rows.indptr, rows.shape)
        found.has_sorted_indices = False
        found.sort_indices()
        return found


@dataclass(frozen=True, eq=False)
class Appended:
    """Documents after the `n_before` of a fit, as counts of each field's n-grams: those of `features`, then `others`,
    which are sorted by their hashes; or as rows of features that came ready."""

    features: DocumentFeatures
    n_before: int
    counts: Mapping[str, Csr]
    others: Mapping[str, Tfidf]

    @classmethod
    def none(cls, features: DocumentFeatures, n_before: int) -> Appended:
        fields = features.fields_
        none = np.empty(0, np.int64)
        counts = {name: csr_matrix((0, tfidf.n_terms), dtype=np.float32) for name, tfidf in fields.items()}
        ready = {_READY: csr_matrix((0, features.n_columns), dtype=np.float32)}
        others = {name: tfidf.part(none, np.empty(0)) for name, tfidf in fields.items()}
        return cls(features, n_before, counts if fields else ready, others)

    def __len__(self) -> int:
        return int(next(iter(self.counts.values())).shape[0])

    def with_documents(self, documents: Documents) -> Appended:
        """And these. O(their texts + what was appended before)."""
        if not self.features.fields_:
            new = self.features.transform(documents)
            return replace(self, counts={_READY: stack_rows([self.counts[_READY], new], format="csr")})
        if documents.features is not None:
            self.features.transform(documents)  # which says what is wrong
        counts, others = dict[str, Csr](), dict[str, Tfidf]()
        for name, tfidf in self.features.fields_.items():
            texts = field_of(documents, name)
            before, others[name] = self.others[name], _both(self.others[name], tfidf.beyond(texts))
            new = side_by_side(tfidf.counts(texts), others[name].counts(texts))
            places = np.searchsorted(others[name].hashes_, before.hashes_)
            old = _moved(self.counts[name], tfidf.n_terms, places, new.shape[1])
            counts[name] = stack_rows([old, new], format="csr")
        return replace(self, counts=counts, others=others)

    @cached_property
    def reading(self) -> DocumentFeatures:
        """What reads documents now: the very features of the fit as long as no n-gram is new."""
        return self._grown if any(tfidf.n_terms for tfidf in self._grown.more.values()) else self.features

    @property
    def rows(self) -> Csr:
        """These documents by `reading`. Made each time: O(nnz)."""
        return self._grown.weighed(self._chosen_counts) if self.features.fields_ else self.counts[_READY]

    def merged(self, rows: Csr) -> tuple[DocumentFeatures, Csr]:
        """As if all had been there at the fit, whose documents are `rows`: the features, and all documents by them, as
        rare as n-grams are in all of them; features that came ready stay. O(nnz of all + terms)."""
        if not self.features.fields_:
            return self.features, stack_rows([rows, self.counts[_READY]], format="csr")
        wider, blocks = DocumentFeatures(self.features.config), []
        for name, tfidf in self.features.fields_.items():
            columns, more = self.counts[name].indices, self._grown.more[name]
            df = np.bincount(columns[columns < tfidf.n_terms], minlength=tfidf.n_terms)
            df_more = self._df[name][self._chosen[name]]
            wider.fields_[name] = tfidf.grown(df, len(self), self.n_before, more, df_more)
        before = self.features.reweighed(rows, wider.fields_)
        for name, block in zip(wider.fields_, before, strict=True):
            own = _weighed(self._chosen_counts[name], wider.fields_[name], None)
            blocks.append(stack_rows([block, own], format="csr"))
        return wider, wider.joined(blocks)

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {f"{name}/counts": counts for name, counts in self.counts.items()}
        for name, tfidf in self.others.items():
            state |= add_prefix(name, tfidf.state())
        return state

    @classmethod
    def restored(cls, features: DocumentFeatures, n_before: int, state: Mapping[str, Any]) -> Self:
        """Nothing is looked at: what is made of it is made when it is first asked for, O(nnz)."""
        names = list(features.fields_) or [_READY]
        own = {name: strip_prefix(state, name) for name in names}
        others = {name: Tfidf(config=features.config).restore(own[name]) for name in features.fields_}
        return cls(features, n_before, {name: own[name]["counts"] for name in names}, others)

    def check(self, n: int) -> None:
        """Of one that was restored, and has so many documents. O(nnz)."""
        for name, counts in self.counts.items():
            fields = self.features.fields_
            if name in fields:
                self.others[name].check()
                checks.ascending(self.others[name].hashes_, "hashes of new words", strictly=True)
                both = np.concatenate([fields[name].hashes_, self.others[name].hashes_])
                checks.require(len(np.unique(both)) == len(both), "new words are known")
            n_columns = fields[name].n_terms + self.others[name].n_terms if name in fields else self.features.n_columns
            checks.matrix(counts, "appended documents", n, n_columns)
            checks.csr(counts, "appended documents", is_sorted=True)
            if name in fields:
                checks.within(counts.data, "counts of words", 1, checks.LARGEST)

    @cached_property
    def _df(self) -> dict[str, LongArray]:
        """Of `others`: those of all n-grams would take as much as the fit."""
        found = dict[str, LongArray]()
        for name, tfidf in self.others.items():
            columns, n = self.counts[name].indices, self.features.fields_[name].n_terms
            found[name] = np.bincount(columns[columns >= n] - n, minlength=tfidf.n_terms)
        return found

    @cached_property
    def _chosen(self) -> dict[str, LongArray]:
        """The n-grams of `others` that are new."""
        most = LARGEST_NEW_SHARE * len(self) if len(self) >= LEAST_NEW_TEXTS else 0
        return {name: np.flatnonzero(df <= most) for name, df in self._df.items()}

    @cached_property
    def _grown(self) -> GrownFeatures:
        more = dict[str, Tfidf]()
        for name, chosen in self._chosen.items():
            idf = idf_of(self._df[name][chosen], self.n_before + len(self))
            more[name] = self.others[name].part(chosen, idf)
        return GrownFeatures(self.features, more)

    @property
    def _chosen_counts(self) -> dict[str, Csr]:
        found = dict[str, Csr]()
        for name, chosen in self._chosen.items():
            places = np.full(self.others[name].n_terms, -1, np.int64)
            places[chosen] = np.arange(len(chosen))
            n = self.features.fields_[name].n_terms
            found[name] = _moved(self.counts[name], n, places, n + len(chosen))
        return found


def _both(one: Tfidf, other: Tfidf) -> Tfidf:
    """The n-grams of both by their hashes, as the first one names them. O(n-grams)."""
    hashes, first = np.unique(np.concatenate([one.hashes_, other.hashes_]), return_index=True)
    both = Tfidf(config=one.config)
    both.ngrams_, both.hashes_, both.idf_ = one.ngrams_, hashes, np.ones(len(hashes))
    names = [*one.names_, *other.names_]
    both.names_ = [names[i] for i in first.tolist()]
    return both


def _moved(counts: Csr, n: int, places: NDArray[np.int64], width: int) -> Csr:
    """Columns from n on at other places, which ascend, or nowhere (-1). O(nnz)."""
    if not len(places):
        return csr_of(counts.data, counts.indices, counts.indptr, (counts.shape[0], width))
    later = counts.indices >= n
    columns = np.where(later, n + places[np.where(later, counts.indices - n, 0)], counts.indices)
    kept = ~later | (columns >= n)
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    return csr_of(counts.data[kept], columns[kept].astype(np.int32), ends, (counts.shape[0], width))


def _weighed(counts: Csr, tfidf: Tfidf, more: Tfidf | None) -> Csr:
    """Counts of n-grams, those of `more` after the others, as tf-idf. O(nnz)."""
    from everylabel.text import kernels

    n, columns = tfidf.n_terms, counts.indices
    idf = tfidf.idf_[columns if more is None else np.minimum(columns, n - 1)] if n else np.zeros(len(columns))
    if more is not None and more.n_terms:
        idf = np.where(columns < n, idf, more.idf_[np.clip(columns - n, 0, None)])
    data, indptr = counts.data.astype(np.float32), counts.indptr.astype(np.int64)
    kernels.weigh(indptr, np.arange(len(columns), dtype=np.int32), data, idf, tfidf.config.sublinear)
    return csr_of(data, columns, indptr, counts.shape)
