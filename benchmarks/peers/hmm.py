"""A hidden Markov model with Gaussian emissions, fitted to all videos together by hmmlearn (peers 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rgwot.config.extensions import Extension
from rgwot.diagnostics import Facts
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.keysteps.settings import Clustering
from rgwot.runtime.errors import RgwotError

ROUNDS = 20
"""Largest number of rounds of EM."""


@dataclass(frozen=True, kw_only=True)
class HmmFacts(Facts):
    """The number of rounds of learning."""

    rounds: int


def decode_hmm(frames: Frames, K: int, generator: np.random.Generator, settings: Clustering) -> Decoded:
    """Label samples by the most likely states of a hidden Markov model: the decoder ``hmm``.

    All states have the same covariance, which is better on recordings than diagonal covariances. The means of the
    states start at k-means centres.
    """
    try:
        from hmmlearn.hmm import GaussianHMM
    except ModuleNotFoundError:
        raise RgwotError("hmm: found no hmmlearn, expected it for this decoder; pip install hmmlearn") from None
    x, random = frames.x.astype(np.float64), int(generator.integers(2**31 - 1))
    model = GaussianHMM(K, "tied", n_iter=ROUNDS, random_state=random).fit(x, frames.lengths)
    facts = HmmFacts(rounds=model.monitor_.iter)
    return Decoded(model.predict(x, frames.lengths).astype(np.int64), facts={"hmm": facts})


class Hmm(Clustering):
    """A hidden Markov model with Gaussian emissions."""

    NAME = "hmm"
    FUNCTION = decode_hmm
    SOURCE = "hmmlearn; a textbook model"


EXTENSION = Extension(decoders=[Hmm])
