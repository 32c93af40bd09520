"""
Bindings of the Rust library; use the package `foretell`.
"""

from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from pathlib import Path
from typing_extensions import CapsuleType
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__version__", "Architecture", "Candidate", "Context", "Module", "Predictor", "Space", "Study", "algorithms", "asked_architecture", "asked_space", "bench", "benchmarks", "crashed", "main", "plan", "presets", "proxies", "rank", "register_proxy", "role_names", "score", "search", "signs", "studies", "train", "verify", "work"]

__version__: Final[str]
"""
Version of the package.
"""

@final
class Architecture:
    """
    One network of a space as plain data: its family and the value of each field.

    It is made from a dict or JSON text that names its space or its family, as the command line reads and writes it.
    Architectures compare equal if all their values are equal, can be keys of a dict, and pickle.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, fields: Any) -> Architecture: ...
    def __reduce__(self, /) -> tuple[Any, tuple[Any, ...]]: ...
    def __repr__(self, /) -> str: ...
    def _files(self, /, target: str = "pytorch", seed: SupportsIndex = 0, weights: bool = True) -> dict[str, Any]:
        """
        The files of an export by name, without writing them.
        """
    def _repr_html_(self, /) -> str: ...
    @property
    def cache(self, /) -> int | None:
        """
        Bytes of the keys and values of a whole context in f32; None if it is no decoder.
        """
    def count(self, /) -> dict[str, Any]:
        """
        Exact parameters by part, multiply-adds and memory.
        """
    def export(self, /, to: str | PathLike[str], *, target: str = "huggingface", seed: SupportsIndex = 0, weights: bool = True, force: bool = False) -> list[str]:
        """
        Writes the network as a folder: huggingface, pytorch, timm or json. The folder is written completely or not at all.
        """
    @property
    def family(self, /) -> str:
        """
        Name of the family.
        """
    @property
    def flops(self, /) -> int | None:
        """
        Multiply-adds of one input.
        """
    @property
    def id(self, /) -> str:
        """
        Canonical id: equal networks have equal ids in every study.
        """
    @property
    def memory(self, /) -> int:
        """
        Bytes that a forward and backward of one input take in f32.
        """
    @property
    def params(self, /) -> int:
        """
        Number of parameters.
        """
    @staticmethod
    def read(path: str | PathLike[str]) -> list[Architecture]:
        """
        Reads architectures from a JSON file with one object or one per line, or from a folder or config.json of transformers.
        """
    def replace(self, /, **fields: Any) -> Architecture:
        """
        The same architecture with fields changed.
        """
    @property
    def space(self, /) -> str:
        """
        Name of the space it was read as.
        """
    def tensors(self, /) -> list[dict[str, Any]]:
        """
        Every weight tensor: name, role, block, shape.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        The fields, as short as the space allows.
        """
    def to_json(self, /) -> str:
        """
        The fields as JSON text, as short as the space allows.
        """
    def to_torch(self, /, *, seed: SupportsIndex = 0, weights: bool = True) -> Any:
        """
        The network as a torch module: the code and, unless weights is False, the weights of an export.
        """

@final
class Candidate:
    """
    A candidate of a study.
    """
    def __new__(cls, /, trial: SupportsIndex, architecture: Architecture, values: SupportsGetItem[int, tuple[str, SupportsFloat | SupportsIndex | None]], evaluated: SupportsFloat | SupportsIndex | None) -> Candidate: ...
    def __reduce__(self, /) -> tuple[Any, tuple[Any, ...]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def architecture(self, /) -> Architecture:
        """
        The network.
        """
    @property
    def evaluated(self, /) -> float | None:
        """
        What the evaluator said; None if it was not asked or gave no number.
        """
    @property
    def trial(self, /) -> int:
        """
        Number of its trial.
        """
    @property
    def value(self, /) -> float | None:
        """
        Value in the first objective; None if the trial failed.
        """
    @property
    def values(self, /) -> dict[str, Any]:
        """
        Value in each objective; None if the trial failed.
        """

@final
class Context:
    """
    What a searcher written in Python may ask for while it is asked. Architectures that it gives are new and inside all limits;
    None means that there are no more.
    """
    def cross(self, /, a: Architecture, b: Architecture) -> Architecture | None:
        """
        A child that takes each value from either parent.
        """
    def mutate(self, /, parent: Architecture, rate: SupportsFloat | SupportsIndex = 0.1) -> Architecture | None:
        """
        A child with each value redrawn with this probability.
        """
    def random(self, /) -> float:
        """
        A random number from 0 to 1, a function of the seed of the study: with it a resumed study is the same.
        """
    def sample(self, /) -> Architecture | None:
        """
        A random architecture.
        """

@final
class Module:
    """
    A torch module whose passes Python runs; use `foretell.torch.score`.
    """
    def __new__(cls, /, described: dict[str, Any], proxies: SupportsGetItem[int, str]) -> Module: ...
    def done(self, /, run: SupportsIndex, batch: SupportsIndex, seconds: SupportsFloat | SupportsIndex, loss: SupportsFloat | SupportsIndex | None = None, numbers: SupportsGetItem[int, SupportsFloat | SupportsIndex] | None = None, traces: SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]] | None = None) -> None:
        """
        Ends a pass that was run.
        """
    def keep(self, /, run: SupportsIndex, mark: Any, numbers: Any, rows: SupportsIndex, gradient: bool) -> None:
        """
        Keeps a value of a pass, or its gradient: rows one after the other.
        """
    def lacks(self, /, run: SupportsIndex, signal: Any, reason: str) -> None:
        """
        Says why a signal was not kept by a pass that was run.
        """
    def natural(self, /, run: SupportsIndex) -> Any:
        """
        What a natural loss means for this kind of network.
        """
    def needs_weights(self, /) -> bool:
        """
        Whether any proxy looks at weights.
        """
    def passes(self, /) -> list[dict[str, Any]]:
        """
        The passes that the proxies need, as data.
        """
    def refuse(self, /, run: SupportsIndex, reason: str) -> None:
        """
        Says why a pass was not run.
        """
    def score(self, /, terms: bool, threads: SupportsIndex | None) -> dict[str, Any]:
        """
        The scores, an entry per proxy.
        """
    def select(self, /, layers: Any) -> list[int]:
        """
        The places of the tensors that a selection of layers holds.
        """
    def set_gradient(self, /, run: SupportsIndex, tensor: SupportsIndex, numbers: Any) -> None:
        """
        Sets the gradient of a tensor in a pass.
        """
    def set_weight(self, /, tensor: SupportsIndex, numbers: Any) -> None:
        """
        Sets the numbers of a tensor.
        """

@final
class Predictor:
    """
    A fitted predictor; use `foretell.predict.Predictor`.
    """
    def __reduce__(self, /) -> tuple[Any, tuple[Any, ...]]: ...
    def check(self, /) -> dict[str, Any]:
        """
        How well it predicts labels that are left out, and which models it averages.
        """
    @staticmethod
    def fit(architectures: SupportsGetItem[int, Any], values: SupportsGetItem[int, SupportsFloat | SupportsIndex], scores: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsFloat | SupportsIndex]]], lower: bool, target: str) -> Predictor:
        """
        Fits a predictor to labels, larger being better unless `lower`.
        """
    @property
    def lower(self, /) -> bool:
        """
        Whether small values of the target are good.
        """
    @staticmethod
    def of_json(text: str, place: str = "predictor") -> Predictor:
        """
        Reads a file's content.
        """
    def predict(self, /, architectures: SupportsGetItem[int, Any], scores: SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]]) -> list[tuple[float, float, float, float]]:
        """
        Value, deviation and the ends of the interval that holds nine of ten labels, per network.
        """
    def register(self, /) -> str:
        """
        Makes it a proxy of this process; how it is asked for.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes its file.
        """
    @property
    def scores(self, /) -> list[str]:
        """
        Names of the scores that it needs of every network.
        """
    @property
    def target(self, /) -> str:
        """
        Target that it was fitted to.
        """
    def to_json(self, /) -> str:
        """
        Its file.
        """

@final
class Space:
    """
    A set of architectures of one family: a preset by name, a space file by path, or a dict with the content of one.
    """
    def __contains__(self, architecture: Architecture, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, space: Any) -> Space: ...
    def __reduce__(self, /) -> tuple[Any, tuple[Any, ...]]: ...
    def __repr__(self, /) -> str: ...
    def _describe(self, /, limits: dict[str, Any]) -> Any:
        """
        Least and largest of parameters and multiply-adds, and the share of architectures inside limits.
        """
    def _sample(self, /, options: dict[str, Any]) -> list[Architecture]: ...
    @property
    def family(self, /) -> str:
        """
        Name of the family of its networks.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the space.
        """
    @staticmethod
    def parse(text: str, place: str = "space") -> Space:
        """
        A space from the text of a space file; `place` is what complaints call it.
        """
    @property
    def size(self, /) -> int | None:
        """
        Number of architectures; None if it has no closed form.
        """
    @property
    def text(self, /) -> str:
        """
        Content of its space file.
        """

@final
class Study:
    """
    A search that has ended or was stopped: its trials, its winner, and how all candidates compare.
    """
    def __arrow_c_stream__(self, /, requested_schema: Any | None = None) -> CapsuleType:
        """
        All trials as an Arrow stream: pandas, polars, pyarrow and DuckDB read it without copies.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, trial: SupportsIndex, /) -> Candidate: ...
    def __hash__(self, /) -> int: ...
    def __len__(self, /) -> int:
        """
        Number of trials.
        """
    def __reduce__(self, /) -> tuple[Any, tuple[Any, ...]]:
        """
        A study of a file pickles as its place; one without brings its trials along.
        """
    def __repr__(self, /) -> str: ...
    def _journal(self, /, n: SupportsIndex, name: str | None = None) -> str:
        """
        The best candidates as the text of an Optuna journal.
        """
    def _repr_html_(self, /) -> str:
        """
        The cards of the report: a few numbers, the winner, the best candidates.
        """
    @staticmethod
    def _restore(content: bytes, name: str) -> Study: ...
    @property
    def answer(self, /) -> dict[str, Any]:
        """
        What the study found and why it won, as the command line prints it with --json.
        """
    @property
    def best(self, /) -> Architecture:
        """
        The winner's architecture; NoWinnerError if nothing won.
        """
    @property
    def failed(self, /) -> int:
        """
        Number of trials that failed.
        """
    @property
    def front(self, /) -> list[Candidate]:
        """
        Candidates that no other beats in every objective, best first in the first one.
        """
    @property
    def hash(self, /) -> str:
        """
        Hash of all trials: equal hashes, equal studies.
        """
    def html(self, /) -> str:
        """
        The report as HTML text.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the study in its store.
        """
    @staticmethod
    def open(store: str | PathLike[str], name: str) -> Study:
        """
        Opens a study of a store file.
        """
    @property
    def rejected(self, /) -> int:
        """
        Number of candidates refused before scoring.
        """
    def report(self, /, path: str | PathLike[str], *, force: bool = False) -> None:
        """
        Writes the report, one page with all charts.
        """
    @property
    def resumed(self, /) -> int:
        """
        Number of trials that were stored before this call.
        """
    @property
    def settings(self, /) -> dict[str, Any]:
        """
        The settings that decide which trials the study has.
        """
    @property
    def space(self, /) -> Space:
        """
        The space that was searched.
        """
    @property
    def stopped(self, /) -> str | None:
        """
        Why it stopped: budget, exhausted or converged; None if it can be resumed.
        """
    @property
    def store(self, /) -> Path:
        """
        Store file.
        """
    def to_pandas(self, /) -> Any:
        """
        All trials as a pandas data frame.
        """
    def top(self, /, n: SupportsIndex = 10) -> list[Candidate]:
        """
        The best candidates: the winner, then those with the best evaluated values, then the others.
        """
    @property
    def uniform(self, /) -> Architecture | None:
        """
        The best uniform network inside the limits, which has the same choices at every layer; None if there is none.
        """
    @property
    def winner(self, /) -> Candidate | None:
        """
        The winner; None if nothing won.
        """

def algorithms() -> list[tuple[str, str]]:
    """
    Every search algorithm: name and one sentence.
    """

def asked_architecture(space: str, choices: dict[str, Any], parameters: SupportsIndex) -> Architecture:
    """
    An architecture with these choices of a space of a function.
    """

def asked_space(name: str, about: str, draw: Any) -> Space:
    """
    The space of a function; see `foretell.torch.Space`.
    """

def bench(name: str, options: dict[str, Any], progress: Any | None = None, executor: Any | None = None) -> dict[str, Any]:
    """
    How well proxies rank the networks of a benchmark; see `foretell.bench`.
    """

def benchmarks(folder: str | PathLike[str] | None = None) -> list[str]:
    """
    Names of all benchmarks that are found.
    """

def crashed(task: bytes, unit: bytes, how: str) -> bytes:
    """
    What is said of a unit whose process crashed for the second time; see `foretell._work`.
    """

def main(words: SupportsGetItem[int, str]) -> int:
    """
    Runs the command line, the name of the program first; the exit code.
    """

def plan(space: Space, options: dict[str, Any], *, proxy: Any | None = None, searcher: Any | None = None, evaluate: Any | None = None, score: Any | None = None) -> dict[str, Any]:
    """
    Checks a search and says what it would do; see `foretell.plan`.
    """

def presets() -> list[str]:
    """
    Names of the spaces that ship with the package.
    """

def proxies() -> list[dict[str, Any]]:
    """
    Every proxy: name, cost and one sentence.
    """

def rank(architectures: SupportsGetItem[int, Any], options: dict[str, Any]) -> list[dict[str, Any]]:
    """
    Ranks architectures by several proxies; see `foretell.rank`.
    """

def register_proxy(function: Any) -> str:
    """
    Makes a function of an architecture a proxy of this process; how it is asked for.
    """

def role_names() -> list[str]:
    """
    The words for roles.
    """

def score(architectures: SupportsGetItem[int, Any], options: dict[str, Any], progress: Any | None = None, executor: Any | None = None) -> list[dict[str, Any]]:
    """
    Scores architectures; see `foretell.score`.
    """

def search(space: Space, options: dict[str, Any], *, proxy: Any | None = None, searcher: Any | None = None, evaluate: Any | None = None, score: Any | None = None, executor: Any | None = None, on_evaluation: Any | None = None, progress: Any | None = None) -> Study:
    """
    Searches a space; see `foretell.search`.
    """

def signs(seed: SupportsIndex, purpose: str, count: SupportsIndex) -> Incomplete:
    """
    Random signs of a stream: those that the engine draws with the same seed for the same purpose.
    """

def studies(store: str | PathLike[str]) -> list[Study]:
    """
    Studies of a store: names, trials and why they stopped.
    """

def train(architecture: Architecture, options: dict[str, Any], progress: Any | None = None) -> dict[str, Any]:
    """
    Trains a network; see `foretell.train`.
    """

def verify(study: Study, options: dict[str, Any], progress: Any | None = None) -> dict[str, Any]:
    """
    Trains the best of a study beside random networks of the same size; see `foretell.verify`.
    """

def work(task: bytes, unit: bytes, threads: SupportsIndex, score: Any | None) -> bytes:
    """
    Computes a unit of a task; see `foretell._work`.
    """
