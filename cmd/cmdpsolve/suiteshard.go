package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A shard is part index, from 0, of count parts of a suite's runs.
type shard struct{ index, count int }

func (s shard) String() string { return fmt.Sprintf("%d/%d", s.index+1, s.count) }

// whole reports whether there is no other part.
func (s shard) whole() bool { return s.count == 1 }

// has reports whether the part has a run, by the number of the run: neighbours,
// which are alike, are in different parts.
func (s shard) has(run int) bool { return run%s.count == s.index }

// resolve finds out which part to play: what was given, else the environment's
// array index, else everything. The words say where from, if not from the command
// line.
func (o *suiteOptions) resolve(getenv func(string) string) (s shard, from string, err error) {
	switch {
	case o.shards < 0:
		return s, "", usage("--shards %d: want at least 1", o.shards)
	case o.shard != "":
		s, err := parseShard(o.shard)
		if err == nil && o.shards != 0 && o.shards != s.count {
			err = usage("--shard %s has %d parts, --shards %d", o.shard, s.count, o.shards)
		}
		return s, "", err
	case o.merge:
		return shard{0, 1}, "", nil
	case getenv("SLURM_ARRAY_TASK_ID") != "":
		s, err := o.slurm(getenv)
		return s, "Slurm's array task " + getenv("SLURM_ARRAY_TASK_ID"), err
	case getenv("JOB_COMPLETION_INDEX") != "":
		s, err := o.kubernetes(getenv)
		return s, "Kubernetes' completion index " + getenv("JOB_COMPLETION_INDEX"), err
	case o.shards > 1:
		return s, "", usage("--shards %d: the environment tells no index; give --shard i/%d", o.shards, o.shards)
	}
	return shard{0, 1}, "", nil
}

// parseShard reads "i/n".
func parseShard(text string) (shard, error) {
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	parts, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || index < 1 || index > parts {
		return shard{}, usage("--shard %q: want i/n, part i = 1 … n of n", text)
	}
	return shard{index - 1, parts}, nil
}

// slurm reads the index of a job array. An array that does not begin at 0, or has
// a step, is numbered through.
func (o *suiteOptions) slurm(getenv func(string) string) (shard, error) {
	given := map[string]int{"SLURM_ARRAY_TASK_MIN": 0, "SLURM_ARRAY_TASK_STEP": 1, "SLURM_ARRAY_TASK_COUNT": o.shards, "SLURM_ARRAY_TASK_ID": 0}
	for name := range given {
		text := getenv(name)
		if text == "" {
			continue
		}
		x, err := strconv.Atoi(text)
		if err != nil || x < 0 {
			return shard{}, usage("%s is %q: want a whole number", name, text)
		}
		given[name] = x
	}
	parts := given["SLURM_ARRAY_TASK_COUNT"]
	if o.shards != 0 {
		parts = o.shards
	}
	if parts < 1 {
		return shard{}, usage("SLURM_ARRAY_TASK_COUNT is not set: give --shards, the number of tasks of the array")
	}
	offset, step := given["SLURM_ARRAY_TASK_ID"]-given["SLURM_ARRAY_TASK_MIN"], max(1, given["SLURM_ARRAY_TASK_STEP"])
	if offset < 0 || offset%step != 0 || offset/step >= parts {
		return shard{}, usage("Slurm's array task %d is none of %d parts: want an array without gaps, or --shard i/n", given["SLURM_ARRAY_TASK_ID"], parts)
	}
	return shard{offset / step, parts}, nil
}

// kubernetes reads the index of an indexed job, whose environment does not tell
// the number of completions.
func (o *suiteOptions) kubernetes(getenv func(string) string) (shard, error) {
	index, err := strconv.Atoi(getenv("JOB_COMPLETION_INDEX"))
	switch {
	case err != nil || index < 0:
		return shard{}, usage("JOB_COMPLETION_INDEX is %q: want a whole number", getenv("JOB_COMPLETION_INDEX"))
	case o.shards == 0:
		return shard{}, usage("JOB_COMPLETION_INDEX is set: give --shards, the job's number of completions, or --shard 1/1 for everything")
	case index >= o.shards:
		return shard{}, usage("JOB_COMPLETION_INDEX is %d: want less than --shards %d", index, o.shards)
	}
	return shard{index, o.shards}, nil
}
