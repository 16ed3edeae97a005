"""Makes a model's profile: probes the numerics and measures the speed on a backend that nobody else uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from velospec.backends.cancellable import CancellableBackend
from velospec.backends.llama_cpp import LlamaBackend
from velospec.control.measure import measure_costs
from velospec.core.cancellation import CancelToken
from velospec.core.request import Mode
from velospec.profile import Conditions, Profile, load_profile
from velospec.verify.exact import Numerics, probe
from velospec.verify.fast import fastest

Fraction = Callable[[float], None]

_PROBE_SHARE = 0.6  # of a measurement's progress; the rest is the cost curve


class Measurement:
    """Measures one model in one mode; `folder` is where its profiles lie."""

    def __init__(self, backend: LlamaBackend, conditions: Conditions, mode: Mode, folder: Path) -> None:
        self._backend = backend
        self._conditions = conditions
        self._mode = mode
        self._folder = folder

    def run(self, known: Profile | None, report: Fraction, cancel: CancelToken) -> Profile:
        """A new profile; of `known`, the numerics are kept where only its costs are in doubt.

        Empties all slots and leaves the backend under the last setting that was tried, also where `cancel`,
        or what `report` raises, abandons it. Raises BackendError, CancelledError.
        """
        # It stands for the backend in all that is asked of it, which __getattr__ hides from the type checker.
        backend = cast("LlamaBackend", CancellableBackend(self._backend, cancel))
        with cancel.interrupting(self._backend.abort):
            numerics = _settled(known) or self._find_numerics(
                backend, lambda fraction: report(fraction * _PROBE_SHARE)
            )
            cost = measure_costs(
                backend, progress=lambda fraction: report(_PROBE_SHARE + fraction * (1 - _PROBE_SHARE))
            )
        mode = Mode.EXACT if numerics.all_agree else self._mode
        return Profile(self._conditions, numerics, cost, mode)

    def _find_numerics(self, backend: LlamaBackend, report: Fraction) -> Numerics:
        """The setting to use in this mode. Exact mode's is asked first: fast mode's may be the same."""
        if self._mode is Mode.EXACT:
            return probe(backend, report)
        exact = load_profile(self._folder, self._conditions)
        numerics = exact.numerics if exact else probe(backend, lambda fraction: report(fraction / 2))
        return numerics if numerics.all_agree else fastest(backend, lambda share: report((1 + share) / 2))


def _settled(profile: Profile | None) -> Numerics | None:
    """The numerics of a profile whose costs a busy machine blurred: bits need no quiet to be compared."""
    return None if profile is None or profile.cost.measured else profile.numerics
