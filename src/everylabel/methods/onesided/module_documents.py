"""How the one-sided family reads documents by its torch module: with attention, or with a transformer.

Everything that is given to the module goes to its parameters' device, and what comes back to the CPU; on a machine with
a GPU documents and labels are read there (encoders/placed.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from everylabel.encoders.base import Encoder, Tokens
from everylabel.encoders.fingerprint import evaluating
from everylabel.encoders.placed import Placed, budget
from everylabel.encoders.static_module import StaticModule
from everylabel.encoders.transformer import batches
from everylabel.methods.onesided.attention import TokenRows, weights_of
from everylabel.methods.onesided.documents import ROWS
from everylabel.methods.onesided.module import DocumentSide, LabelModule, Seen
from everylabel.types import FloatArray, IntArray, LongArray
from everylabel.vectors import unit_rows

ATTENDED = 32  # texts of static embeddings whose shortlists are attended to at a time
LABELS = 256  # that are encoded at a time


class ModuleDocuments:
    """See `DocumentVectors`; with attention `read`, `attended` and `weights`, too."""

    def __init__(self, side: DocumentSide, device: str) -> None:
        self.side, self._static, self._placed = side, isinstance(side.encoder, StaticModule), Placed(side, device)

    @classmethod
    def restored(
        cls, encoder: Encoder, layers: dict[str, FloatArray], *, layer: bool, attention: bool, linear_output: bool
    ) -> ModuleDocuments:
        mean = np.zeros(encoder.dim, np.float32)
        side = DocumentSide(encoder.module, mean, layer=layer, attention=attention, linear_output=linear_output)
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in layers.items()}
        side.load_state_dict(tensors, strict=False)  # the encoder has its own
        return cls(side.eval(), encoder.config.device)

    def parts(self, lengths: LongArray) -> Iterator[LongArray]:
        if not self._static:
            return batches(lengths, budget(self._placed()))
        size = ATTENDED if self.side.attention else ROWS
        return (np.arange(first, min(first + size, len(lengths))) for first in range(0, len(lengths), size))

    def vectors(self, tokens: Tokens) -> FloatArray:
        side = self._placed()
        with evaluating(side), torch.inference_mode():
            found: FloatArray = side(tokens).cpu().numpy()
        return found

    def through_layer(self, vectors: FloatArray) -> FloatArray:
        layer = self._placed().layer
        if layer is None:
            return vectors
        with torch.inference_mode():
            found: FloatArray = vectors + layer(torch.from_numpy(vectors).to(layer.weight.device)).cpu().numpy()
        return found

    def read(self, tokens: Tokens) -> tuple[FloatArray, TokenRows]:
        """The pooled vectors, and what attention looks at: the text is read once for both."""
        side = self._placed()
        with evaluating(side), torch.inference_mode():
            read = side.read(tokens)
        assert read.tokens is not None
        return read.vectors.cpu().numpy(), read.tokens

    def attended(self, read: TokenRows, ids: IntArray, labels: dict[str, FloatArray]) -> FloatArray:
        """Scores of each document with its labels (`ids`, -1 for none: any number), by the vectors of all labels."""
        asked, places = np.unique(ids, return_inverse=True)
        rows = torch.from_numpy(asked)  # taken by torch, whose arrays are aligned: else sums differ in their last digit
        device = read.table.device
        with torch.inference_mode():
            own = Seen(**{name: torch.from_numpy(values)[rows].to(device) for name, values in labels.items()})
            sets = torch.from_numpy(places.reshape(ids.shape)).to(device)
            found: FloatArray = self._placed().attended(read, own, sets).cpu().numpy()
        return found

    def weights(self, tokens: Tokens, query: FloatArray) -> FloatArray:
        """The weight of each token of one text; where tokens are counted, of each of its occurrences."""
        _, read = self.read(tokens)
        weights = weights_of(read, 0, torch.from_numpy(query).to(read.table.device))
        if read.numbers is None:
            return weights
        counts = np.exp(read.bias.cpu().numpy())
        of_id = dict(zip(read.numbers.tolist(), (weights / counts).tolist(), strict=True))
        return np.array([of_id[i] for i in tokens.ids.tolist()], np.float32)

    def state(self) -> dict[str, FloatArray]:
        tensors = self.side.state_dict().items()
        return {name: tensor.cpu().numpy() for name, tensor in tensors if not name.startswith("encoder.")}


def label_vectors(labels: LabelModule, n: int, device: str) -> dict[str, FloatArray]:
    """Of the first n labels: `outputs` (1 long, unless there are constants), `queries` and `constants` if any."""
    found: dict[str, list[FloatArray]] = {}
    module = Placed(labels, device)()
    with evaluating(module), torch.inference_mode():
        for first in range(0, n, LABELS):
            seen = module(np.arange(first, min(first + LABELS, n), dtype=np.int32))
            own = {name: part.cpu().numpy() for name, part in seen._asdict().items() if part is not None}
            if "constants" not in own:
                own["outputs"] = unit_rows(own["outputs"])
            for name, part in own.items():
                found.setdefault(name, []).append(part)
    return {name: np.concatenate(parts) for name, parts in found.items()}
