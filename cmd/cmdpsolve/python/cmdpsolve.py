"""Plan and learn in constrained and vector-valued Markov decision processes.

This file is the Python client of the command cmdpsolve, which printed it
(`cmdpsolve python > cmdpsolve.py`). It needs the standard library alone; NumPy arrays,
SciPy matrices and pandas frames are taken and given where these are installed.
The command is looked for in $CMDPSOLVE, else on the path.

A problem is the name of a problem file or of a built-in instance, a dict with the
keys of a problem file, or a Problem that from_arrays, from_frame or from_gymnasium
made. Options of the command are keyword arguments: bonus_scale=0.05 stands for
--bonus-scale 0.05, and at_most={"cost": 2, "risk": 0.1} for --at-most cost=2 and
--at-most risk=0.1. timeout=60 stops the command after so many seconds. An infeasible
problem is a result; everything that is wrong is an exception.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import inspect
import json
import math
import os
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

try:
    import numpy as np
except ImportError:
    np = None

__all__ = [
    "plan", "sweep", "front", "check", "simulate", "learn", "compare", "from_arrays", "from_frame", "from_gymnasium",
    "Problem", "Policy", "Plan", "Front", "Point", "Check", "Simulation", "Learned", "Comparison", "Row",
    "Estimate", "Certificate", "Fault", "Error", "ProblemError", "RunError", "Timeout",
]


# Errors


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a problem or policy file. Line and column count from 1."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    key: str = ""


class Error(Exception):
    """The command could not answer."""


class ProblemError(Error):
    """The problem, a file or an option is wrong; faults lists what is wrong with files."""

    def __init__(self, message: str, faults: Sequence[Fault] = ()):
        super().__init__(message)
        self.faults = list(faults)


class RunError(Error):
    """The run failed or was interrupted; result is what was found before, or None."""

    def __init__(self, message: str, result: Any = None):
        super().__init__(message)
        self.result = result


class Timeout(RunError):
    """The command had no answer within timeout= seconds; result is what was found before, or None."""


# Results


def _read(cls, data: Mapping[str, Any], **more):
    """Makes a result of an object of the command. Keys that this client does not know stay in json."""
    names = {f.name for f in dataclasses.fields(cls)}
    values = {k: v for k, v in data.items() if k in names and k != "json"}
    values.update(more)
    if "json" in names:
        values["json"] = dict(data)
    return cls(**values)


@dataclass(frozen=True)
class Estimate:
    """A mean and the half-width of its 95% confidence interval; None where there is none."""

    mean: Optional[float]
    ci95: Optional[float] = None


@dataclass(frozen=True)
class Certificate:
    """A proof that no policy keeps the limits: under every policy direction·returns is at least
    value, but at most support where the limits hold; distance is how far the nearest returns are."""

    direction: Dict[str, float]
    support: Optional[float] = None
    value: Optional[float] = None
    distance: Optional[float] = None
    json: dict = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Plan:
    """The best policy that keeps the limits, with a bound that no policy can pass."""

    status: str  # optimal, infeasible, unbounded, undecided, stopped; of games also minimax and the like
    objective: Optional[float] = None
    bound: Optional[float] = None
    gap: Optional[float] = None
    returns: Dict[str, float] = field(default_factory=dict)
    violation: Optional[float] = None
    prices: Optional[List[float]] = None
    iterations: int = 0
    seconds: float = 0.0
    certificate: Optional[Certificate] = None
    policy: Optional[Policy] = None
    json: dict = field(default_factory=dict, repr=False)

    @property
    def feasible(self) -> bool:
        return self.status != "infeasible"


@dataclass(frozen=True)
class Point:
    """A point of a trade-off curve, and the weights for which it is best."""

    returns: Dict[str, float]
    weights: Optional[Dict[str, float]] = None
    vertex: bool = False


@dataclass(frozen=True)
class Front:
    """The trade-off curve; no point of the true one is farther away than error."""

    status: str
    over: List[str]
    points: List[Point]
    error: Optional[float] = None
    certificate: Optional[Certificate] = None
    seconds: float = 0.0
    json: dict = field(default_factory=dict, repr=False)

    @property
    def feasible(self) -> bool:
        return self.status != "infeasible"

    def array(self):
        """One row for each point, one column for each return of over."""
        return _array([[p.returns[name.lstrip("+-")] for name in self.over] for p in self.points])

    def frame(self):
        return _frame([p.returns for p in self.points])


@dataclass(frozen=True)
class Check:
    """Sizes of a problem, the range of each return, and whether the limits can be kept."""

    states: int
    choices: int
    transitions: int
    returns: Dict[str, Tuple[Optional[float], Optional[float]]]
    feasible: Optional[bool] = None
    gap_lower: Optional[float] = None
    gap_upper: Optional[float] = None
    horizon: Optional[int] = None
    discount: Optional[float] = None
    certificate: Optional[Certificate] = None
    json: dict = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Simulation:
    """Mean returns of episodes that a policy has played."""

    returns: Dict[str, Estimate]
    episodes: int = 0
    objective: Optional[float] = None
    violation: Optional[float] = None
    seconds: float = 0.0
    json: dict = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Learned:
    """What a learner achieved on average over all its episodes. Regret is None in a simulator,
    of which the optimum is not known."""

    episodes: int
    average: Dict[str, float]
    objective: Optional[float] = None
    violation: Optional[float] = None
    regret: Optional[float] = None
    bound: Optional[float] = None
    certificate: Optional[Certificate] = None
    interrupted: bool = False
    seconds: float = 0.0
    history: List[dict] = field(default_factory=list, repr=False)
    runs: List[dict] = field(default_factory=list, repr=False)
    json: dict = field(default_factory=dict, repr=False)

    def frame(self):
        """The history, one row for each recorded episode."""
        return _frame([{**{k: v for k, v in h.items() if not isinstance(v, dict)}, **(h["average"] or {})} for h in self.history])


@dataclass(frozen=True)
class Sampled:
    """A plan from samples of every choice. sample has how many there were and, in error, to within
    what the returns are known; true is what the plan is worth in the model, None in a simulator."""

    status: str
    returns: Dict[str, float]
    objective: Optional[float] = None
    sample: dict = field(default_factory=dict)
    true: Optional[dict] = None
    failure: float = 0.05
    seconds: float = 0.0
    json: dict = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Row:
    """A learner of a comparison. Status is done, or says why it did not play."""

    algorithm: str
    status: str
    metrics: Dict[str, Estimate]
    json: dict = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Comparison:
    """Several learners on one problem."""

    rows: List[Row]
    exact: Optional[dict] = None
    json: dict = field(default_factory=dict, repr=False)

    def __getitem__(self, algorithm: str) -> Row:
        for row in self.rows:
            if row.algorithm == algorithm:
                return row
        raise KeyError(algorithm)

    def frame(self):
        """The means, one row for each learner."""
        return _frame([{"algorithm": r.algorithm, **{k: e.mean for k, e in r.metrics.items()}} for r in self.rows])


def _array(rows):
    return np.array(rows, dtype=float) if np is not None else rows


def _frame(records):
    import pandas

    return pandas.DataFrame(records)


# Policies


def _number(name) -> Union[int, str]:
    """A state or action is a number if it is called by one."""
    text = str(name)
    return int(text) if text.isdigit() and (text == "0" or text[0] != "0") else text


class Policy:
    """A policy: rows as in a policy file, and arrays of them.

    states and actions name the axes of the array: numbers 0 to n-1 where they are numbered, else
    names. With a horizon there is an axis of steps before them. A policy that draws one of
    several components at the start, or has a memory, has rows alone.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], states: Union[None, int, Sequence[str]] = None):
        self.rows = [dict(r) for r in rows]
        self.states = self._axis("state", states)
        self.actions = self._axis("action", None)

    def _axis(self, key, known) -> List[Union[int, str]]:
        names = list(dict.fromkeys(_number(r[key]) for r in self.rows))
        if hasattr(known, "__len__"):
            return list(known)
        if all(isinstance(n, int) for n in names):
            return list(range(max([int(known or 0)] + [n + 1 for n in names])))
        return names

    def __repr__(self) -> str:
        steps = f", {self.horizon} steps" if self.horizon else ""
        return f"Policy({len(self.states)} states, {len(self.actions)} actions{steps}, {len(self.rows)} rows)"

    @property
    def horizon(self) -> Optional[int]:
        """The number of steps, None for a stationary policy."""
        return max((int(r["step"]) for r in self.rows if r.get("step")), default=None)

    @property
    def array(self):
        """Probabilities by state and action, before them by step if there is a horizon. A row of zeros
        stands for a state without actions."""
        if any(k not in ("step", "state", "action", "probability") for r in self.rows for k in r):
            raise ValueError("this policy has a memory or components: use its rows")
        s_index = {n: i for i, n in enumerate(self.states)}
        a_index = {n: i for i, n in enumerate(self.actions)}
        zeros = lambda: [[0.0] * len(self.actions) for _ in self.states]
        table = [zeros() for _ in range(self.horizon or 1)]
        for r in self.rows:
            s = s_index[r["state"] if r["state"] in s_index else _number(r["state"])]
            table[int(r.get("step") or 1) - 1][s][a_index[_number(r["action"])]] = r["probability"]
        return _array(table if self.horizon else table[0])

    @classmethod
    def from_array(cls, array, states=None, actions=None) -> Policy:
        """A policy of probabilities by state and action, or by step, state and action. Rows of zeros are
        left out. states and actions name them; by default they are numbers."""
        array = array.tolist() if hasattr(array, "tolist") else array
        rows, steps = [], isinstance(array[0][0], (list, tuple))
        for h, table in enumerate(array if steps else [array]):
            for s, line in enumerate(table):
                for a, p in enumerate(line):
                    if p:
                        row = {"step": h + 1} if steps else {}
                        row.update(state=str(states[s] if states else s), action=str(actions[a] if actions else a), probability=p)
                        rows.append(row)
        return cls(rows, states)

    def save(self, path) -> None:
        """Writes a policy file, as JSON or CSV by its ending."""
        kind = os.path.splitext(path)[1]
        if kind not in (".json", ".csv"):
            raise ValueError(f"{path}: want a name that ends in .json or .csv; the command writes other files: cmdpsolve plan PROBLEM --policy {path}")
        with open(path, "w", newline="", encoding="utf-8") as f:
            if kind == ".json":
                json.dump(self.rows, f)
                return
            out = csv.DictWriter(f, list(dict.fromkeys(k for r in self.rows for k in r)))
            out.writeheader()
            out.writerows(self.rows)

    def frame(self):
        return _frame(self.rows)


# Problems


class Problem:
    """A problem file as a dict, with the files that it names. states counts or names the states."""

    def __init__(self, document: Mapping[str, Any], files: Optional[Mapping[str, Callable[[str], None]]] = None, states=None):
        self.document = {"format": "cmdp/1", **document}
        self.files = dict(files or {})  # functions that write a file
        self.states = states if states is not None else document.get("states")

    def __repr__(self) -> str:
        count = self.states if self.states is None or isinstance(self.states, int) else len(self.states)
        said = {"name": self.document.get("name"), "states": count, "returns": list(self.document.get("returns", []))}
        said.update((key, self.document.get(key)) for key in ("horizon", "discount", "criterion", "goal", "constraints"))
        return "Problem(" + ", ".join(f"{key}={value!r}" for key, value in said.items() if value is not None) + ")"

    def save(self, path) -> None:
        """Writes the problem file, as JSON, and beside it the files that it names."""
        for name, write in self.files.items():
            write(os.path.join(os.path.dirname(path) or ".", name))
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.document, f, default=_plain)


def _plain(x):
    """Numbers and arrays of NumPy as JSON has them."""
    if hasattr(x, "tolist"):
        return x.tolist()
    raise TypeError(f"{x!r} cannot be written as JSON")


def _document(more: Mapping[str, Any]) -> Dict[str, Any]:
    return {k: v for k, v in more.items() if v is not None}


def from_arrays(P, R, *, start=0, returns: Sequence[str] = ("reward",), states=None, **wanted) -> Problem:
    """A problem of transition probabilities and rewards.

    P has shape (S, A, S), P[s][a][t], or is a list of A matrices of shape (S, S), dense or of
    SciPy. R has shape (S, A), or (S, A, d) for d returns, which returns names. A row of zeros in P says that the state does
    not offer the action. start is a state or {state: probability}. wanted are further keys of a
    problem file: horizon, discount or criterion, goal, constraints, target, name.
    """
    entries = []
    if isinstance(P, (list, tuple)) and hasattr(P[0], "shape"):
        count = P[0].shape[0]
        actions, lengths = [len(P)] * count, {n for matrix in P for n in matrix.shape}
        for a, matrix in enumerate(P):
            if hasattr(matrix, "tocoo"):
                m = matrix.tocoo()
                entries += [(int(s), a, int(t), float(p)) for s, t, p in zip(m.row, m.col, m.data) if p != 0]
            else:
                entries += [(s, a, t, p) for s, line in enumerate(matrix.tolist()) for t, p in enumerate(line) if p != 0]
    else:
        table = P.tolist() if hasattr(P, "tolist") else P
        count = len(table)
        actions, lengths = [len(lines) for lines in table], {len(line) for lines in table for line in lines}
        entries = [(s, a, t, p) for s, lines in enumerate(table) for a, line in enumerate(lines) for t, p in enumerate(line) if p != 0]
    rewards = R.tolist() if hasattr(R, "tolist") else R
    if lengths != {count}:
        raise ValueError(f"P: got {count} states with probabilities of {', '.join(map(str, sorted(lengths)))} successors: want "
                         "P[s][a][t] for as many; np.moveaxis(P, 0, 1) makes it of P[a][s][t]")
    if len(rewards) != count or any(len(rewards[s]) < n for s, n in enumerate(actions)):
        raise ValueError("R: want R[s][a] for each state and action of P")
    names, one = list(returns), not isinstance(rewards[0][0], (list, tuple))
    for n in {1} if one else {len(x) for lines in rewards for x in lines}:
        if n != len(names):
            raise ValueError(f"returns: got {len(names)} names, {names}, and R has {n} numbers for a state and an action: want a name for each")
    return _transitions(
        entries, lambda s, a: [rewards[s][a]] if one else rewards[s][a], names,
        {"states": states or count, "start": start, **wanted})


def _transitions(entries, reward, names, document) -> Problem:
    """A problem whose rows stand in a CSV file beside it."""

    def write(path):
        with open(path, "w", newline="", encoding="utf-8") as f:
            out = csv.writer(f)
            out.writerow(["state", "action", "next", "probability", *names])
            out.writerows([s, a, t, p, *reward(s, a)] for s, a, t, p in entries)

    return Problem(_document({**document, "returns": names, "transitions": {"file": "transitions.csv"}}), {"transitions.csv": write})


def from_frame(frame, *, states, start=0, **wanted) -> Problem:
    """A problem of a table of transitions: a pandas frame or a list of dicts with the columns state,
    action, next, probability, perhaps step, and one for each return."""
    records = frame.to_dict("records") if hasattr(frame, "to_dict") else list(frame)
    columns = list(records[0])
    names = [c for c in columns if c not in ("state", "action", "next", "probability", "step", "opponent")]

    def write(path):
        with open(path, "w", newline="", encoding="utf-8") as f:
            out = csv.DictWriter(f, columns)
            out.writeheader()
            out.writerows(records)

    return Problem(_document({"states": states, "start": start, "returns": names, **wanted, "transitions": {"file": "transitions.csv"}}),
                   {"transitions.csv": write})


def from_gymnasium(env, *, costs: Optional[Mapping[str, Callable[..., float]]] = None, horizon: Optional[int] = None,
                   start=None, **wanted) -> Problem:
    """A problem of the transition table P of a Gymnasium environment, such as those of toy_text.

    Its return is called reward. costs are further returns: functions of a transition, which are
    called by the names of their parameters, any of state, action, next, reward and terminated, or
    s, a, t, r and done, in any order. The horizon is that of the environment unless it or a discount is given.
    A transition that is terminated leads to a state after the last one, in which nothing
    happens.
    """
    inner = env.unwrapped
    count, costs = len(inner.P), {name: _of_transition(name, f) for name, f in (costs or {}).items()}
    if "returns" in wanted:
        raise TypeError("returns: the reward of the environment and the names of costs are the returns")
    if horizon is None and not {"discount", "criterion"} & set(wanted):
        horizon = _time_limit(env)
    if start is None:
        start = {str(s): float(p) for s, p in enumerate(inner.initial_state_distrib) if p > 0}
    rows = []
    for s, actions in inner.P.items():
        for a, outcomes in actions.items():
            rows.append({"state": int(s), "action": int(a), "outcomes": [
                {"probability": float(p), "next": count if done else int(t),
                 "returns": [float(r), *(f(s, a, t, r, done) for f in costs.values())]}
                for p, t, r, done in outcomes if p > 0]})
    document = {"horizon": horizon, "states": count + 1, "start": start, "returns": ["reward", *costs], **wanted, "transitions": rows}
    return Problem(_document(document), states=count)


_TRANSITION = {"state": 0, "s": 0, "action": 1, "a": 1, "next": 2, "next_state": 2, "t": 2, "reward": 3, "r": 3,
               "terminated": 4, "done": 4}


def _of_transition(name: str, function: Callable[..., float]) -> Callable[..., float]:
    """A function of (state, action, next, reward, terminated), made of one that names those it wants.

    The order in which they are named does not count: a function that took one for another would
    give a wrong cost, and nobody would see it.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise TypeError(f"costs[{name!r}]: want a function whose parameters have names") from None
    wrong = [p.name for p in parameters if p.name not in _TRANSITION or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    places = [_TRANSITION.get(p.name) for p in parameters]
    if wrong or len(set(places)) < len(places):
        raise TypeError(f"costs[{name!r}]: parameters {', '.join(p.name for p in parameters)}: want some of state, action, next, "
                        "reward, terminated (or s, a, t, r, done), each at most once")
    pairs = [(p.name, place, p.kind == p.POSITIONAL_ONLY) for p, place in zip(parameters, places)]

    def cost(*transition):
        first = [transition[place] for _, place, positional in pairs if positional]
        return float(function(*first, **{key: transition[place] for key, place, positional in pairs if not positional}))

    return cost


def _time_limit(env) -> Optional[int]:
    return getattr(getattr(env, "spec", None), "max_episode_steps", None)


# The command


_REPEATED = ("at_most", "at_least", "sweep", "set")  # options that are given once for each value


def _flags(options: Mapping[str, Any]) -> List[str]:
    """The options of a command. What the command does not know it refuses."""
    flags = []
    for name, value in options.items():
        if name == "format":
            raise TypeError("format: the client reads JSON; its answers have the data")
        if value is None:
            continue
        if isinstance(value, Mapping):
            values = [f"{k}={v}" for k, v in value.items()]
        elif isinstance(value, (list, tuple)) and name in _REPEATED:
            values = list(value)
        elif isinstance(value, (list, tuple)):
            values = [",".join(map(str, value))]
        else:
            values = [str(value).lower() if isinstance(value, bool) else value]
        flags += [f"--{name.replace('_', '-')}={v}" for v in values]
    return flags


@contextlib.contextmanager
def _folder():
    with tempfile.TemporaryDirectory(prefix="cmdpsolve-") as folder:
        yield folder


def _place(problem, folder) -> Tuple[str, Optional[str]]:
    """The name of a problem, and what the command reads from standard input.

    A problem made in Python with files of its own is written to the folder. Others go to standard
    input: the files that they name are looked for in the working directory.
    """
    if isinstance(problem, (str, os.PathLike)):
        return os.fspath(problem), None
    if isinstance(problem, Mapping):
        problem = Problem(problem)
    if not isinstance(problem, Problem):
        raise TypeError(f"{type(problem).__name__}: want a problem, which is a path, a name, a dict or a Problem; environments are for learn")
    if not problem.files:
        return "-", json.dumps(problem.document, default=_plain)
    path = os.path.join(folder, "problem.json")
    problem.save(path)
    return path, None


def _start(args: Sequence[str], **streams) -> subprocess.Popen:
    command = os.environ.get("CMDPSOLVE", "cmdpsolve")
    try:
        return subprocess.Popen([command, *args], text=True, encoding="utf-8", **streams)
    except FileNotFoundError:
        raise Error(f"the command {command} is not there: install cmdpsolve, or set the environment variable CMDPSOLVE to its path") from None


_GRACE = 10.0  # seconds that a command has to stop in when it is asked to


class _Watch:
    """Ends a command that takes too long, and one whose answer nobody waits for any more.

    The command is asked to stop, so that it saves what it has, and is killed if it does not.
    """

    def __init__(self, process: subprocess.Popen, timeout: Optional[float]):
        self.process, self.timeout, self.late = process, timeout, False
        self.timers = []
        if timeout is not None:
            self._after(timeout, self._expire)

    def _after(self, seconds, action):
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def _expire(self):
        self.late = True
        self._stop()

    def _stop(self):
        self.process.terminate()
        self._after(_GRACE, self.process.kill)

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self._stop()
        try:
            self.process.wait()
        finally:
            for timer in self.timers:
                timer.cancel()
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()


def _seconds(timeout: Optional[float]) -> Optional[float]:
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise ValueError(f"timeout={timeout!r}: want a number of seconds above 0, or None")
    return timeout if timeout is None or timeout < threading.TIMEOUT_MAX else None


def _judge(watch: _Watch, out: str, err: str, folder: str, result: Callable[[dict], Any]):
    """The result, or the exception that the exit status asks for."""
    status = watch.process.returncode
    data = json.loads(out) if out.strip() else {}
    text = err.strip()
    faults = []
    if "failed" in data:
        tidy = lambda s: s.replace(folder + os.sep, "").replace("standard input", "problem.json")
        faults = [_read(Fault, f) for f in data["failed"].get("faults") or []]
        faults = [dataclasses.replace(f, file=tidy(f.file), message=tidy(f.message)) for f in faults]
        text = tidy(data["failed"]["message"])
        data = {}
    if status in (0, 3) and data:
        return result(data)
    if status == 2:
        raise ProblemError(text, faults)
    found = result(data) if data else None
    if watch.late:
        raise Timeout(f"no answer within {watch.timeout:g} seconds", found)
    raise RunError(text.removeprefix("cmdpsolve: ") or f"the command ended with status {status}", found)


def _run(command: str, problem, args: Sequence[str], folder: str, result: Callable[[dict], Any], timeout: Optional[float]):
    timeout = _seconds(timeout)
    name, text = _place(problem, folder)
    stdin = subprocess.DEVNULL if text is None else subprocess.PIPE
    process = _start([command, "--format=json", *args, "--", name], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with _Watch(process, timeout) as watch:
        out, err = process.communicate(text)
    return _judge(watch, out, err, folder, result)


def _certificate(data: Mapping[str, Any]) -> Optional[Certificate]:
    c = data.get("certificate")
    return _read(Certificate, c) if c else None


def _estimate(x) -> Optional[Estimate]:
    return Estimate(x["mean"], x.get("ci95")) if isinstance(x, Mapping) and "mean" in x else None


def _states(problem):
    return problem.states if isinstance(problem, Problem) else problem.get("states") if isinstance(problem, Mapping) else None


def _rows(path: str) -> List[dict]:
    """The rows of a policy file, none if there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def plan(problem, *, timeout: Optional[float] = None, **options) -> Plan:
    """The best policy of a known model. Infeasible is a status, with a certificate.

    plan(p, at_most={"cost": 2}, at_least={"reward": 1}) changes or adds limits.
    """
    if options.get("sweep") is not None:
        raise TypeError("sweep: use the function sweep, which gives a plan for each value")
    if options.get("policy") is not None:
        raise TypeError("policy: the answer has it; plan(...).policy.save(path) writes it")
    with _folder() as folder:
        path = os.path.join(folder, "policy.json")

        def result(data):
            rows = _rows(path)
            return _read(Plan, data, certificate=_certificate(data), policy=Policy(rows, _states(problem)) if rows else None)

        return _run("plan", problem, ["--policy=" + path, *_flags(options)], folder, result, timeout)


def sweep(problem, over: Mapping[str, Union[str, Sequence[float]]], *, timeout: Optional[float] = None, **options) -> List[Plan]:
    """A plan for each value of a limit: sweep(p, {"cost": (2, 5, 0.5)}) goes from 2 to 5 by 0.5. Several limits
    make a grid. The values stand in json["limits"] of each plan."""
    spans = {name: span if isinstance(span, str) else ":".join(map(str, span)) for name, span in over.items()}

    def result(data):
        return [_read(Plan, d, certificate=_certificate(d)) for d in data["plans"]]

    with _folder() as folder:
        return _run("plan", problem, _flags({"sweep": spans, **options}), folder, result, timeout)


def front(problem, over: Union[str, Sequence[str], None] = None, *, timeout: Optional[float] = None, **options) -> Front:
    """The trade-off curve between returns: over="reward,-cost" maximises reward and minimises cost."""
    def result(data):
        points = [_read(Point, p) for p in data.get("points") or []]
        return _read(Front, data, points=points, certificate=_certificate(data))

    with _folder() as folder:
        return _run("front", problem, _flags({"over": over, **options}), folder, result, timeout)


def check(problem, *, timeout: Optional[float] = None, **options) -> Check:
    """Sizes, ranges, and whether the limits can be kept."""
    def result(data):
        ranges = {name: (r.get("min"), r.get("max")) for name, r in (data.get("returns") or {}).items()}
        return _read(Check, data, returns=ranges, certificate=_certificate(data))

    with _folder() as folder:
        return _run("check", problem, _flags(options), folder, result, timeout)


def simulate(problem, policy, *, timeout: Optional[float] = None, **options) -> Simulation:
    """Plays a policy: a Policy, an array as Policy.from_array takes it, or the path of a policy file."""
    def result(data):
        return _read(Simulation, data, returns={k: Estimate(v["mean"], v.get("ci95")) for k, v in data["returns"].items()})

    with _folder() as folder:
        if not isinstance(policy, (str, os.PathLike)):
            names = _states(problem)
            policy = policy if isinstance(policy, Policy) else Policy.from_array(policy, names if isinstance(names, (list, tuple)) else None)
            policy.save(os.path.join(folder, "policy.json"))
            policy = os.path.join(folder, "policy.json")
        return _run("simulate", problem, ["--policy=" + os.fspath(policy), *_flags(options)], folder, result, timeout)


def compare(problem, algorithms: Union[None, str, Sequence[str]] = None, *, timeout: Optional[float] = None, **options) -> Comparison:
    """Several learners on the same problem, with the same seeds: by default all that fit it."""
    def result(data):
        rows = []
        for r in data.get("rows") or []:
            metrics = {k: e for k, e in ((k, _estimate(v)) for k, v in r.items()) if e}
            rows.append(_read(Row, r, metrics=metrics))
        return _read(Comparison, data, rows=rows)

    with _folder() as folder:
        return _run("compare", problem, _flags({"algorithms": algorithms, **options}), folder, result, timeout)


# Learning


def _learned(data: dict) -> Union[Learned, Sampled]:
    if "sample" in data:
        return _read(Sampled, data)
    return _read(Learned, data, certificate=_certificate(data))


def learn(problem, *, returns: Union[None, str, Mapping[str, Tuple[float, float]]] = None, states: Optional[int] = None,
          actions: Union[None, int, Sequence[int]] = None, start=None, horizon: Optional[int] = None, goal=None,
          discount: Optional[float] = None, criterion: Optional[str] = None, constraints=None, target=None,
          name: Optional[str] = None, timeout: Optional[float] = None, **options) -> Union[Learned, Sampled]:
    """Learns an unknown model by playing it.

    problem is a problem as for the other functions, or an environment: of Gymnasium, with discrete
    observations and actions, or any object with reset() and step(action). For an environment,
    returns has the range of each return in a step, such as {"reward": (0, 1)}; states and
    actions are counts (of Gymnasium they are known); start is the first state or
    {state: probability} and is learned if it is left out; horizon, goal, constraints and target are
    those of a problem file. discount, or criterion="average" for long-run means, stand in the place of
    horizon: the environment is then played in one run without end, for steps=N, and needs a start.

    reset() returns the state, or a pair of it and anything else; it is given seed=, if it takes one.
    step() returns (state, returns), (state, returns, done), or the five values of Gymnasium. Its
    returns are a number, a list or a dict; where a number is given and more returns are declared,
    the others are looked for in the info of Gymnasium. Exceptions of the environment are passed on.
    timeout does not interrupt a step that does not end.

    An environment that has set_state(state) too can be sampled: with sample=N or accuracy=E every
    choice is asked for N times, or as often as that takes, and the result is a Sampled.
    """
    if not hasattr(problem, "step"):
        if isinstance(returns, str):  # the option: known or unknown
            options["returns"], returns = returns, None
        given = dict(returns=returns, states=states, actions=actions, start=start, horizon=horizon, goal=goal,
                     discount=discount, criterion=criterion, constraints=constraints, target=target, name=name)
        wrong = [k for k, v in given.items() if v is not None]
        if wrong:
            raise TypeError(f"{', '.join(wrong)}: only for environments; a problem says this itself")
        with _folder() as folder:
            return _run("learn", problem, _flags(options), folder, _learned, timeout)
    endless = discount is not None or criterion is not None
    if endless and horizon:
        raise TypeError("horizon: not beside discount or criterion")
    player = _Player(problem, returns, states, actions, start, None if endless else horizon or _time_limit(problem), endless)
    wanted = _document(dict(name=name, horizon=player.horizon, discount=discount, criterion=criterion, goal=goal,
                            constraints=constraints, target=target))
    with _folder() as folder:
        path = os.path.join(folder, "problem.json")
        Problem(wanted).save(path)
        return player.play(["learn", path, "--format=json", "--env-command=-", *_flags(options)], folder, timeout)


_CLOSE = '{"close":true}\n'


class _Player:
    """Serves an environment to the command, by the protocol of docs/simulators.md."""

    def __init__(self, env, returns, states, actions, start, horizon, endless):
        if not returns:
            raise TypeError('returns: want the range of each return in a step, such as {"reward": (0, 1)}')
        self.env, self.names = env, list(returns)
        self.horizon = horizon
        if not horizon and not endless:
            raise TypeError("horizon: want the number of steps of an episode; or a discount, or criterion=\"average\"")
        states = states or self._size("observation_space", "states")
        actions = actions if actions is not None else self._size("action_space", "actions")
        self.hello = {"hello": 1, "states": states, "actions": actions, "terminates": not endless,
                      "returns": {k: [float(lo), float(hi)] for k, (lo, hi) in returns.items()}}
        if callable(getattr(env, "set_state", None)):
            self.hello["set_state"] = True
        if start is not None:
            self.hello["start"] = {str(s): p for s, p in start.items()} if isinstance(start, Mapping) else start
        try:
            parameters = inspect.signature(env.reset).parameters
            self.seeds = "seed" in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())
        except (TypeError, ValueError):
            self.seeds = False
        self.steps = 0

    def _size(self, space, what):
        n = getattr(getattr(self.env, space, None), "n", None)
        if n is None:
            raise TypeError(f"{what}: want their number, since the environment has no discrete {space}")
        return int(n)

    def answer(self, request: dict) -> dict:
        if "step" in request:
            return self._step(request["step"])
        if "set_state" in request:
            self.steps = 0
            self.env.set_state(request["set_state"])
            return {"state": request["set_state"]}
        if "start" in request:
            self.steps = 0
            first = self.env.reset(seed=request["seed"]) if self.seeds else self.env.reset()
            return {"state": int(first[0] if isinstance(first, tuple) else first)}
        return self.hello

    def _step(self, action):
        out, info, truncated = self.env.step(action), {}, False
        if len(out) == 5:
            state, got, done, truncated, info = out
        else:
            state, got, done = (*out, False)[:3]
        self.steps += 1
        if self.horizon is None and (done or truncated):
            raise ValueError(f"the environment ends after {self.steps} steps, and a run without end goes on: want a horizon")
        if truncated and not done and self.steps < self.horizon:
            raise ValueError(f"the environment stops after {self.steps} steps: want a horizon of at most that, not {self.horizon}")
        if isinstance(got, Mapping):
            values = [got[k] for k in self.names]
        elif hasattr(got, "__len__"):
            values = list(got)
        else:
            values = [got, *(info[k] for k in self.names[1:])]
        values = [float(x) for x in values]
        if not all(map(math.isfinite, values)):
            raise ValueError(f"step({action}) returned {values}: want finite numbers")
        return {"done": True, "returns": values} if done else {"state": int(state), "returns": values}

    def play(self, args, folder, timeout) -> Union[Learned, Sampled]:
        timeout = _seconds(timeout)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = _start(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=1)
            with _Watch(process, timeout) as watch:
                failure, rest = None, ""
                try:
                    rest = self._serve(process)
                except BaseException as e:  # the command must save, and must end
                    failure = e
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
                out = (rest + process.stdout.read()).rpartition(_CLOSE)[2]
                process.wait()
            if failure is not None:
                raise failure
            errors.seek(0)
            return _judge(watch, out, errors.read(), folder, _learned)

    def _serve(self, process) -> str:
        """Answers requests, and returns the first line that is none."""
        for line in iter(process.stdout.readline, ""):
            if not line.startswith(('{"hello', '{"start', '{"step', '{"set_state')):
                return line
            reply = json.dumps(self.answer(json.loads(line)), separators=(",", ":"))
            try:
                process.stdin.write(reply + "\n")
            except BrokenPipeError:
                break
        return ""
