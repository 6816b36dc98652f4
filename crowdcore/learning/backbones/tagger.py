"""Convolution and GRU over the words of whole sentences, as the crowd layer's paper tags entities."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.errors import DataError
from crowdcore.core.settings import Settings
from crowdcore.learning.backbones.base import Backbone
from crowdcore.learning.networks.layers import Dropout, Linear, word_embedding
from crowdcore.learning.settings import TaggerSettings
from crowdcore.learning.training.inputs import BUCKETS

_SHARES = {"word": 4, "prefix": 1, "suffix": 2, "shape": 1}  # eighths of the embedding
_WIDTH = 5


class Tagger(Backbone):
    """Embeddings of words, their ends and shapes, a convolution over 5 tokens, a GRU, and a linear layer (crowd layer).

    Its inputs are tokens, (B, 5) as `word_rows` makes them; tokens that follow each other with the same sentence number
    are a sentence. For the convolution, sentences lie in one line with zeros between them; the GRU reads the first
    tokens of all sentences, then the second ones of those that have them, and so on. So nothing is padded.
    """

    name: ClassVar[str] = "tagger"
    title: ClassVar[str] = "Convolution and GRU over sentences"
    Settings: ClassVar[type[Settings]] = TaggerSettings
    sentences: ClassVar[bool] = True
    fills_device: ClassVar[bool] = True

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__(input_shape, n_outputs, settings)
        if input_shape != (len(BUCKETS) + 1,):
            raise DataError(
                f"The backbone 'tagger' reads words of sentences, but inputs have the shape {input_shape}",
                "It needs a dataset that tags tokens, such as conll_ner.",
            )
        size, filters, hidden = settings.embedding, settings.filters, settings.hidden
        self.embeddings = nn.ModuleList(word_embedding(n, size * _SHARES[k] // 8) for k, n in BUCKETS.items())
        self.convolution = nn.Conv1d(size, filters, _WIDTH, padding=_WIDTH // 2)
        bound = hidden**-0.5
        shapes = (3 * hidden, filters), (3 * hidden, hidden), (3 * hidden,), (3 * hidden,)
        self.gru = nn.ParameterList(torch.empty(shape).uniform_(-bound, bound) for shape in shapes)
        self.dropout = nn.ModuleList([Dropout(settings.dropout), Dropout(settings.dropout)])
        self.output = Linear(hidden, n_outputs)
        self.hidden = hidden

    def forward(self, x: Tensor) -> Tensor:
        """(B, 5) tokens of whole sentences -> (B, n_outputs)."""
        rows = x.to(torch.int64)
        tokens = torch.cat([embed(rows[:, k]) for k, embed in enumerate(self.embeddings)], -1)
        begins = torch.ones_like(rows[:, 4], dtype=torch.bool)
        begins[1:] = rows[1:, 4] != rows[:-1, 4]
        sentence = begins.cumsum(0) - 1
        start = begins.nonzero().squeeze(1)
        place = torch.arange(len(rows), device=x.device)
        apart = place + _WIDTH // 2 * sentence
        line = tokens.new_zeros(len(rows) + _WIDTH // 2 * len(start), tokens.shape[1]).index_put((apart,), tokens)
        filtered = torch.relu(self.convolution(line.T.unsqueeze(0))).squeeze(0).T[apart]
        length, order = sentence.bincount().sort(descending=True, stable=True)
        n_reading = (length > torch.arange(int(length[0]), device=x.device).unsqueeze(1)).sum(1)
        step = (n_reading.cumsum(0) - n_reading)[place - start[sentence]] + order.argsort()[sentence]
        state = tokens.new_zeros(1, len(start), self.hidden)
        words = self.dropout[0](filtered)[step.argsort()]
        whole = torch.cat([p.flatten() for p in self.gru])  # cuDNN reads weights from one piece of memory
        pieces = whole.split([p.numel() for p in self.gru])
        weights = [piece.view(p.shape) for piece, p in zip(pieces, self.gru, strict=True)]
        read, _ = torch.gru(words, n_reading.cpu(), state, weights, True, 1, 0.0, self.training, False)
        logits: Tensor = self.output(self.dropout[1](read[step]))
        return logits
