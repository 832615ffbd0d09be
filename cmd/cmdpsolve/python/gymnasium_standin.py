"""Stands in for Gymnasium in the test of docs/python.md: FrozenLake-v1 by its documentation, and no other.

A move goes where it is meant to with probability 1/3, and to each side of that with 1/3. Holes and
the goal end the episode, the goal pays 1, and 100 steps are the most.
"""

import random

_MAP = ["SFFF", "FHFH", "FFFH", "HFFG"]
_MOVES = [(0, -1), (1, 0), (0, 1), (-1, 0)]  # left, down, right, up


class _Space:
    def __init__(self, n):
        self.n = n


class _FrozenLake:
    class spec:
        max_episode_steps = 100

    observation_space, action_space = _Space(16), _Space(4)
    initial_state_distrib = [1.0] + 15 * [0.0]

    def __init__(self):
        self.unwrapped = self
        self.P = {s: {a: [self._outcome(s, (a + turn) % 4) for turn in (-1, 0, 1)] for a in range(4)} for s in range(16)}

    def _outcome(self, state, move):
        row, column = divmod(state, 4)
        if _MAP[row][column] in "HG":
            return 1 / 3, state, 0, True
        row = min(max(row + _MOVES[move][0], 0), 3)
        column = min(max(column + _MOVES[move][1], 0), 3)
        place = _MAP[row][column]
        return 1 / 3, 4 * row + column, float(place == "G"), place in "HG"

    def reset(self, *, seed=None, options=None):
        self.random, self.state, self.steps = random.Random(seed), 0, 0
        return self.state, {}

    def step(self, action):
        p, self.state, reward, terminated = self.random.choice(self.P[self.state][action])
        self.steps += 1
        return self.state, reward, terminated, self.steps >= 100, {"prob": p}


def make(name):
    if name != "FrozenLake-v1":
        raise ValueError(f"{name} is not here")
    return _FrozenLake()
