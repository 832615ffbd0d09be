"""Tests of the client. Run by TestPythonClient, with and without NumPy, SciPy and pandas."""

import os
import random
import tempfile
import unittest

import cmdpsolve as cs

try:
    import numpy as np
except ImportError:
    np = None
try:
    import scipy.sparse as sparse
except ImportError:
    sparse = None
try:
    import pandas
except ImportError:
    pandas = None

# Two states. Work in state 1 earns 1 and costs 1; by hand, 4 steps from state 0 without a limit earn 3,
# and with cost at most 1.5 half of that: work 1.5 times.
P = [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]
R = [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]]
WANTED = {"horizon": 4, "goal": {"maximize": "reward"}, "constraints": [{"return": "cost", "at_most": 1.5}]}
NAMES = ["reward", "cost"]


class Chain:
    """The same as an environment, of a plain class."""

    def __init__(self, failing=0):
        self.failing, self.episode, self.place = failing, 0, 0

    def reset(self):
        self.episode += 1
        self.place = 0
        return 0

    def step(self, action):
        if self.failing and self.episode == self.failing:
            raise KeyError("the robot fell over")
        before, reward = self.place, float(self.place == 1 and action == 0)
        if before == 0 and action == 0:
            self.place = 1
        return self.place, [reward, reward]


class Space:
    def __init__(self, n):
        self.n = n


class Lake:
    """As Gymnasium has them: a table P, spaces, a limit of steps; state 3 is the goal, 2 a hole."""

    observation_space, action_space = Space(4), Space(2)
    initial_state_distrib = [1.0, 0.0, 0.0, 0.0]
    P = {
        0: {0: [(1.0, 1, 0.0, False)], 1: [(0.5, 2, 0.0, True), (0.5, 3, 1.0, True)]},
        1: {0: [(1.0, 0, 0.0, False)], 1: [(0.75, 3, 1.0, True), (0.25, 2, 0.0, True)]},
        2: {0: [(1.0, 2, 0, True)], 1: [(1.0, 2, 0, True)]},
        3: {0: [(1.0, 3, 0, True)], 1: [(1.0, 3, 0, True)]},
    }

    class spec:
        max_episode_steps = 6

    def __init__(self, limit=6):
        self.limit, self.unwrapped, self.seeds = limit, self, []

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        self.random, self.state, self.steps = random.Random(seed), 0, 0
        return 0, {"prob": 1}

    def step(self, action):
        u, self.steps = self.random.random(), self.steps + 1
        for p, state, reward, done in self.P[self.state][action]:
            u -= p
            if u < 0:
                break
        self.state = state
        return state, reward, done, self.steps >= self.limit, {"hole": float(done and state == 2)}


def learn(env, **more):
    options = dict(returns={"reward": (0, 1), "cost": (0, 1)}, states=2, actions=2, start=0, episodes=300, bonus_scale=0.01, pool=True)
    return cs.learn(env, **{**options, **WANTED, **more})


class Models(unittest.TestCase):
    def same(self, problem):
        answer = cs.plan(problem)
        self.assertEqual(answer.status, "optimal")
        self.assertAlmostEqual(answer.objective, 1.5, 8)
        self.assertAlmostEqual(answer.returns["cost"], 1.5, 8)
        self.assertAlmostEqual(answer.prices[0], 1, 6)
        return answer

    def test_lists(self):
        answer = self.same(cs.from_arrays(P, R, returns=NAMES, **WANTED))
        table = answer.policy.array
        self.assertEqual((len(table), len(table[0]), len(table[0][0])), (4, 2, 2))
        for h in range(4):
            for s in range(2):
                self.assertAlmostEqual(sum(table[h][s]), 1)
        self.assertAlmostEqual(table[0][0][0] + table[0][0][1], 1)

    @unittest.skipUnless(np, "without NumPy")
    def test_numpy(self):
        kernel = np.array(P)
        answer = self.same(cs.from_arrays(kernel, np.array(R), returns=NAMES, **WANTED))
        self.assertEqual(answer.policy.array.shape, (4, 2, 2))
        self.same(cs.from_arrays([kernel[:, a] for a in range(2)], np.array(R), returns=NAMES, **WANTED))
        self.same({"states": np.int64(2), "start": 0, "returns": NAMES, **WANTED, "transitions": [
            {"state": s, "action": a, "next": {str(t): kernel[s, a, t] for t in range(2) if kernel[s, a, t]}, "returns": np.array(R)[s, a]}
            for s in range(2) for a in range(2)]})

    @unittest.skipUnless(sparse, "without SciPy")
    def test_scipy(self):
        self.same(cs.from_arrays([sparse.csr_matrix(np.array(P)[:, a]) for a in range(2)], np.array(R), returns=NAMES, **WANTED))

    @unittest.skipUnless(pandas, "without pandas")
    def test_pandas(self):
        rows = [{"state": s, "action": a, "next": t, "probability": P[s][a][t], "reward": R[s][a][0], "cost": R[s][a][1]}
                for s in range(2) for a in range(2) for t in range(2) if P[s][a][t]]
        self.same(cs.from_frame(pandas.DataFrame(rows), states=2, **WANTED))
        frame = cs.front(cs.from_frame(rows, states=2, **WANTED), over="reward,-cost").frame()
        self.assertEqual(set(frame.columns), {"reward", "cost"})
        history = learn(Chain()).frame()
        self.assertIn("violation", history.columns)
        self.assertIn("reward", history.columns)

    def test_one_return_and_holes(self):
        # State 1 offers action 0 alone.
        problem = cs.from_arrays([[[0.5, 0.5], [0, 1]], [[0, 1], [0, 0]]], [[1, 2], [0.5, 9]], discount=0.5, goal={"maximize": "reward"})
        answer = cs.plan(problem)
        self.assertAlmostEqual(answer.objective, 2.5, 8)  # 2 + 0.5/(1 - 0.5)/2
        self.assertEqual([[float(x) for x in row] for row in answer.policy.array], [[0, 1], [1, 0]])
        self.assertIsNone(answer.policy.horizon)

    def test_shapes(self):
        for kernel, rewards, names, want in ((P, R, ["reward"], "1 names.* R has 2"), (P, [[1, 1], [1, 1]], NAMES, "2 names.* R has 1"),
                                             (P, R[:1], NAMES, "R:"), (P, [R[0], R[1][:1]], NAMES, "R:"),
                                             ([P[0]], R, NAMES, "1 states .* 2 successors.*moveaxis")):
            with self.assertRaisesRegex(ValueError, want):
                cs.from_arrays(kernel, rewards, returns=names, **WANTED)

    def test_save(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            cs.from_arrays(P, R, returns=NAMES, **WANTED).save(path)
            answer = self.same(path)
            for name in ("policy.json", "policy.csv"):
                file = os.path.join(folder, name)
                answer.policy.save(file)
                self.assertLess(abs(cs.simulate(path, file, episodes=2000, seed=1).returns["cost"].mean - 1.5), 0.2)
            with self.assertRaisesRegex(ValueError, "plan PROBLEM --policy"):
                answer.policy.save(os.path.join(folder, "policy.c"))

    def test_gymnasium_table(self):
        wanted = {"goal": {"maximize": "reward"}, "constraints": [{"return": "hole", "at_most": 0.1}]}
        # By hand: from state 0 both ways end in state 2 or 3 in the end, by going to state 1 first with the chance
        # 0.25 of the hole. A limit of 0.1 lets 0.4 of the episodes leave.
        for hole in (lambda state, action, next, reward, terminated: terminated and next == 2,
                     lambda s, a, t, r, done: done and r == 0, lambda s, a, r, t, done: done and r == 0,
                     lambda done, reward: done and reward == 0, lambda *, next_state: next_state == 2):
            answer = cs.plan(cs.from_gymnasium(Lake(), costs={"hole": hole}, **wanted))
            self.assertAlmostEqual(answer.objective, 0.3, 8)
            self.assertAlmostEqual(answer.returns["hole"], 0.1, 8)
            free = cs.plan(cs.from_gymnasium(Lake(), costs={"hole": hole}, goal=wanted["goal"]))
            self.assertAlmostEqual(free.objective, 0.75, 8)
            self.assertEqual((len(free.policy.array[0]), free.policy.horizon), (4, 6))
        for wrong in (lambda s, a, n, r, done: 0, lambda *args: 0, lambda **names: 0, lambda r, reward: 0, lambda s, a, t, r, d: 0, max):
            with self.assertRaisesRegex(TypeError, r"costs\['hole'\]: .*want"):
                cs.from_gymnasium(Lake(), costs={"hole": wrong}, **wanted)
        with self.assertRaises(cs.ProblemError):  # a limit on a cost that is not there
            cs.plan(cs.from_gymnasium(Lake(), **wanted))
        with self.assertRaises(cs.ProblemError):
            cs.plan(cs.from_gymnasium(Lake(), constraint=[{"return": "reward", "at_most": 0.1}]))
        with self.assertRaises(TypeError):
            cs.from_gymnasium(Lake(), returns=["reward", "hole"])

    def test_repr(self):
        problem = cs.from_arrays(P, R, returns=NAMES, **WANTED)
        self.assertEqual(repr(problem), "Problem(states=2, returns=['reward', 'cost'], horizon=4, goal={'maximize': 'reward'}, "
                                        "constraints=[{'return': 'cost', 'at_most': 1.5}])")
        answer = cs.plan(problem)
        self.assertRegex(repr(answer.policy), r"^Policy\(2 states, 2 actions, 4 steps, \d+ rows\)$")
        self.assertIn("Policy(2 states", repr(answer))
        self.assertEqual(repr(cs.Policy.from_array([[1, 0], [0, 1]])), "Policy(2 states, 2 actions, 2 rows)")


class Answers(unittest.TestCase):
    def test_infeasible(self):
        limits = [{"return": "cost", "at_most": 1}, {"return": "reward", "at_least": 2}]
        problem = cs.from_arrays(P, R, returns=NAMES, horizon=4, constraints=limits)
        answer = cs.plan(problem)
        self.assertEqual((answer.status, answer.feasible, answer.policy), ("infeasible", False, None))
        self.assertAlmostEqual(answer.certificate.distance, 0.5**0.5, 6)
        self.assertIs(cs.check(problem).feasible, False)
        self.assertFalse(cs.front(problem, over="reward,-cost").feasible)

    def test_front(self):
        curve = cs.front(cs.from_arrays(P, R, returns=NAMES, horizon=4), over=["reward", "-cost"])
        points = sorted([float(x) for x in row] for row in curve.array())
        self.assertAlmostEqual(points[0][1], 0)
        self.assertAlmostEqual(points[-1][0], 3)

    def test_simulate_array(self):
        problem = cs.from_arrays(P, R, returns=NAMES, horizon=4)
        played = cs.simulate(problem, [[1, 0], [0.5, 0.5]], episodes=2000)
        self.assertLess(abs(played.returns["reward"].mean - 1.5), 3 * played.returns["reward"].ci95)

    def test_games_and_options(self):
        game = cs.plan("matrix:game=regret2,limit=-0.1")
        self.assertEqual((game.status, game.feasible), ("infeasible", False))
        learned = cs.learn("inventory", episodes=5, exact=False, returns="unknown")
        self.assertEqual((learned.json["exact"], learned.json["returns"]), (None, "unknown"))
        problem = {**cs.from_arrays(P, R, returns=NAMES, **WANTED).document, "let": {"limit": 1.5},
                   "constraints": [{"return": "cost", "at_most": "limit"}],
                   "transitions": [{"state": 0, "action": 0, "next": {0: 1}, "returns": [1, 1]}]}
        self.assertAlmostEqual(cs.check(problem).json["horizon"], 4)
        self.assertTrue(cs.plan(problem).status == "infeasible")
        self.assertAlmostEqual(cs.plan(problem, set={"limit": 4}).objective, 4)

    def test_what_if(self):
        problem = cs.from_arrays(P, R, returns=NAMES, **WANTED)
        self.assertAlmostEqual(cs.plan(problem, at_most={"cost": 0.5}).objective, 0.5, 8)
        self.assertAlmostEqual(cs.plan(problem, at_most={"cost": 0.5, "reward": 0.25}).objective, 0.25, 8)
        self.assertAlmostEqual(cs.plan(problem, at_most=["cost=0.5", "reward=0.25"]).objective, 0.25, 8)
        both = cs.plan(problem, minimize="cost", at_least={"reward": 1}, at_most={"cost": 2})
        self.assertAlmostEqual(both.objective, 1, 8)
        self.assertFalse(cs.plan(problem, at_least={"reward": 2}).feasible)
        self.assertFalse(cs.check(problem, at_least={"reward": 2}).feasible)
        plans = cs.sweep(problem, {"cost": (1, 2, 0.5)})
        for answer, limit in zip(plans, (1, 1.5, 2)):
            self.assertAlmostEqual(answer.objective, limit, 8)
            self.assertEqual(answer.json["limits"], [limit])
        self.assertEqual(len(plans), 3)
        for wrong in ({"format": "csv"}, {"policy": "p.csv"}, {"sweep": {"cost": "1:2:1"}}):
            with self.assertRaisesRegex(TypeError, next(iter(wrong))):
                cs.plan(problem, **wrong)
        for wrong in ({"at_most": {"csot": 1}}, {"at_most": {"cost": "much"}}, {"at_mots": {"cost": 1}}, {"at_most": 5}):
            with self.assertRaises(cs.ProblemError):
                cs.plan(problem, **wrong)

    def test_timeout(self):
        before = os.environ["CMDPSOLVE"], tempfile.tempdir
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir = os.path.join(folder, "own")  # to see what is left behind
            os.mkdir(tempfile.tempdir)
            slow = os.path.join(folder, "slow")
            with open(slow, "w") as f:
                f.write("#!/bin/sh\nexec sleep 60\n")
            os.chmod(slow, 0o700)
            try:
                os.environ["CMDPSOLVE"] = slow
                problem = cs.from_arrays(P, R, returns=NAMES, **WANTED)
                for call in (lambda: cs.plan("inventory", timeout=0.2), lambda: cs.check(problem, timeout=0.2),
                             lambda: cs.compare(problem.document, timeout=0.2), lambda: learn(Chain(), timeout=0.2)):
                    with self.assertRaisesRegex(cs.Timeout, "no answer within 0.2 seconds") as caught:
                        call()
                    self.assertIsNone(caught.exception.result)
                os.environ["CMDPSOLVE"] = before[0]
                with self.assertRaises(cs.Timeout) as caught:  # what was found until then
                    cs.learn("inventory", episodes=10**9, exact=False, timeout=1)
                self.assertTrue(caught.exception.result.interrupted)
                self.assertEqual(cs.plan(problem, timeout=float("inf")).status, "optimal")
                for wrong in (0, -1, "1", float("nan")):
                    with self.assertRaisesRegex(ValueError, "timeout"):
                        cs.plan(problem, timeout=wrong)
                with self.assertRaises(KeyError):
                    learn(Chain(failing=2))
                with self.assertRaises(cs.ProblemError):
                    cs.simulate(problem, [[0, 0, 1]])
                self.assertEqual(os.listdir(tempfile.tempdir), [])
            finally:
                os.environ["CMDPSOLVE"], tempfile.tempdir = before

    def test_names(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                rows = [{"state": 0, "action": "go", "next": {0: 1}, "returns": [1]}]
                problem = cs.Problem({"horizon": 3, "states": 1, "start": 0, "returns": ["--pay"], "goal": {"maximize": "--pay"}, "transitions": rows})
                for name in ("--help", "-x.json", "--format=csv"):
                    problem.save(name)
                    self.assertEqual(cs.plan(name).returns, {"--pay": 3})
                    self.assertEqual(cs.learn(name, episodes=2, bonus_scale=0.1).episodes, 2)
                self.assertEqual(cs.plan(problem, at_most={"--pay": 2}).status, "infeasible")
                cs.plan(problem).policy.save("--policy.json")
                self.assertEqual(cs.simulate(problem, "--policy.json", episodes=3).returns["--pay"].mean, 3)
            finally:
                os.chdir(before)

    def test_faults(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a:b.yaml")
            with open(path, "w") as f:
                f.write("format: cmdp/1\nhorizon: 0\nstates: 1\nstart: 0\nreturns: [r]\ntransitions:\n  - {state: 0, action: 0, next: {7: 1}}\n")
            with self.assertRaises(cs.ProblemError) as caught:
                cs.plan(path)
        faults = caught.exception.faults
        self.assertEqual([(f.file, f.line, f.key) for f in faults], [(path, 2, "horizon"), (path, 7, "transitions[0].next.7")])
        self.assertIn("want a whole number from 1", faults[0].message)

    def test_files_of_a_dict(self):
        problem = {"horizon": 3, "states": 1, "start": 0, "returns": ["r"], "goal": {"maximize": "r"}, "transitions": {"file": "rows.csv"}}
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                with open("rows.csv", "w") as f:
                    f.write("state,action,next,probability,r\n0,0,0,1,2\n")
                plan = cs.plan(problem)
                self.assertEqual((plan.objective, cs.check(problem).horizon), (6, 3))
                self.assertEqual(cs.simulate(problem, plan.policy, episodes=10).returns["r"].mean, 6)
                self.assertEqual(cs.learn(problem, episodes=10).episodes, 10)
                with self.assertRaises(cs.ProblemError) as caught:
                    cs.plan({**problem, "transitions": {"file": "none.csv"}})
                self.assertEqual([(f.file, f.key) for f in caught.exception.faults], [("problem.json", "transitions.file")])
                with self.assertRaisesRegex(cs.ProblemError, "outside"):
                    cs.plan({**problem, "transitions": {"file": os.path.abspath("rows.csv")}})
                self.assertEqual(cs.plan({**problem, "transitions": {"file": os.path.abspath("rows.csv")}}, outside=True).objective, 6)
            finally:
                os.chdir(before)

    def test_other_errors(self):
        for call in (lambda: cs.plan("none.yaml"), lambda: cs.plan("garnt"), lambda: cs.plan("inventory", gpa=1),
                     lambda: cs.simulate("inventory", "none.csv"), lambda: learn(Chain(), learner="nobody"),
                     lambda: learn(Chain(), bonus_scal=1), lambda: learn(Chain(), goal={"maximize": "gold"})):
            with self.assertRaises(cs.ProblemError) as caught:
                call()
            self.assertNotEqual(str(caught.exception), "")
        before, os.environ["CMDPSOLVE"] = os.environ["CMDPSOLVE"], "/no/such/command"
        try:
            with self.assertRaisesRegex(cs.Error, "install cmdpsolve"):
                cs.plan("inventory")
        finally:
            os.environ["CMDPSOLVE"] = before


class Learning(unittest.TestCase):
    def test_plain_class(self):
        learned = learn(Chain())
        self.assertEqual(learned.episodes, 300)
        self.assertLess(abs(learned.average["cost"] - 1.5), 0.3)
        self.assertIsNone(learned.regret)
        self.assertEqual(learned.history[-1]["episode"], 300)

    def test_seeds(self):
        learned = learn(Chain(), seeds=2, episodes=20)
        self.assertEqual(len(learned.runs), 2)

    def test_gymnasium(self):
        def run(**more):
            env = Lake()
            options = dict(returns={"reward": (0, 1), "hole": (0, 1)}, goal={"maximize": "reward"}, episodes=400, learner="posterior", pool=True)
            return cs.learn(env, **{**options, **more}), env

        learned, env = run()
        self.assertGreater(learned.average["reward"], 0.6)  # the best is 0.75
        self.assertLess(learned.average["hole"], 0.4)
        self.assertEqual((len(env.seeds), len(set(env.seeds))), (400, 400))
        again, _ = run()
        self.assertEqual(again.average, learned.average)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint")
            run(episodes=150, save=path)
            resumed, env = run(resume=path)
            self.assertEqual((resumed.average, len(env.seeds)), (learned.average, 250))

    def test_samples(self):
        class Anywhere(Chain):
            def set_state(self, state):
                self.place = state
        options = dict(episodes=None, bonus_scale=None, sample=400)
        plan = learn(Anywhere(), **options)
        self.assertEqual((plan.status, plan.sample["each"], plan.true), ("sampled", 400, None))
        self.assertEqual(set(plan.returns), set(plan.sample["error"]))
        with self.assertRaisesRegex(cs.ProblemError, "cannot be asked anywhere"):
            learn(Chain(), **options)
        with self.assertRaisesRegex(cs.ProblemError, "must say where episodes begin"):
            learn(Anywhere(), start=None, **options)
        with self.assertRaisesRegex(cs.RunError, '^problem.json: .*"state" 5: the hello has the states 0 to 1'):
            learn(type("E", (Anywhere,), {"step": lambda self, a: (5, [0, 0])})(), **options)
        with self.assertRaisesRegex(TypeError, "environments are for learn"):
            cs.plan(Anywhere(), sample=400)

    def test_run_without_end(self):
        endless = dict(horizon=None, criterion="average", episodes=None, bonus_scale=None, pool=None, steps=500)
        env = Chain()
        learned = learn(env, **endless)
        self.assertEqual((learned.json["steps"], env.episode), (500, 1))
        learn(env, **{**endless, "criterion": None, "discount": 0.5})
        self.assertGreater(env.episode, 200)  # starts anew after every second step
        with self.assertRaisesRegex(TypeError, "not beside"):
            learn(Chain(), **{**endless, "horizon": 3})
        with self.assertRaisesRegex(ValueError, "ends after 1 steps"):
            learn(type("E", (Chain,), {"step": lambda self, a: (0, [0, 0], True)})(), **endless)

    def test_failing_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint")
            with self.assertRaisesRegex(KeyError, "fell over"):
                learn(Chain(failing=50), save=path)
            env = Chain()
            learned = learn(env, resume=path)
            self.assertEqual((learned.episodes, env.episode), (300, 300 - 49))

    def test_bad_environments(self):
        with self.assertRaisesRegex(ValueError, "finite"):
            learn(type("E", (Chain,), {"step": lambda self, a: (0, [float("nan"), 0])})())
        with self.assertRaisesRegex(cs.RunError, "reward is 2: by the hello it is from 0 to 1") as caught:
            learn(type("E", (Chain,), {"step": lambda self, a: (0, [2, 0])})())
        self.assertTrue(caught.exception.result.interrupted)
        with self.assertRaisesRegex(cs.RunError, '"state" 5: the hello has the states 0 to 1'):
            learn(type("E", (Chain,), {"step": lambda self, a: (5, [0, 0])})())
        with self.assertRaisesRegex(ValueError, "stops after 3 steps: want a horizon of at most that, not 6"):
            cs.learn(Lake(limit=3), returns={"reward": (0, 1)}, goal={"maximize": "reward"}, episodes=50)
        for wrong in ({"returns": None}, {"horizon": None}, {"states": None}, {"actions": None}):
            with self.assertRaises(TypeError):
                learn(Chain(), **wrong)
        with self.assertRaisesRegex(TypeError, "states: only for environments"):
            cs.learn("inventory", states=5)


if __name__ == "__main__":
    unittest.main()
