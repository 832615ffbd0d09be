import json, random, sys

def answer(message):
    print(json.dumps(message), flush=True)

for line in sys.stdin:
    request = json.loads(line)
    if "hello" in request:
        answer({"hello": 1, "states": 5, "actions": 2, "start": 0,
                "returns": {"reward": [0, 1], "cost": [0, 0.5]}})
    elif "start" in request:
        rng, state = random.Random(request["seed"]), 0
        answer({"state": state})
    elif "step" in request:
        work = request["step"] == 1
        if not work:
            state = max(state - 1, 0)
        elif rng.random() < 0.8:
            state = min(state + 1, 4)
        answer({"state": state, "returns": [1 if state == 4 else 0, 0.5 if work else 0]})
    else:
        break
