package drn

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/internal/source"
)

// headerKeys are the keys of the header and whether their value stands in the next
// line.
var headerKeys = map[string]bool{
	"@type": false, "@value_type": false, "@parameters": true, "@placeholders": true, "@reward_models": true,
	"@nr_states": true, "@nr_choices": true,
}

func (r *reader) readHeader() error {
	r.header = make(map[string]string)
	again := false // the line has been read, but belongs to the header
	for again || r.Next() {
		again = false
		line := string(bytes.TrimSpace(r.Text))
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		if line == "@model" {
			return r.judgeHeader()
		}
		key, value, _ := strings.Cut(line, ":")
		below, ok := headerKeys[key]
		if _, given := r.header[key]; given {
			return r.Errorf("%s is given twice", key)
		}
		switch {
		case !ok || !below && value == "":
			return r.Errorf("got %s: want a line of the header, up to @model", source.Quote(line))
		case key == "@placeholders":
			if err := r.readPlaceholders(); err != nil {
				return err
			}
			again = true
		case below:
			if !r.Next() {
				break
			}
			value = string(r.Text)
		}
		r.header[key] = strings.TrimSpace(value)
	}
	if err := r.Err(); err != nil {
		return err
	}
	return fmt.Errorf("the file ends before @model")
}

// readPlaceholders reads lines such as "$x : 0.5", up to the next key, which stays
// the current line.
func (r *reader) readPlaceholders() error {
	r.placeholders = make(map[string]float64)
	for r.Next() {
		line := strings.TrimSpace(string(r.Text))
		if strings.HasPrefix(line, "@") {
			return nil
		}
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || !strings.HasPrefix(name, "$") {
			return r.Errorf("got %s: want $NAME : NUMBER", source.Quote(line))
		}
		x, err := r.number([]byte(strings.TrimSpace(value)))
		if err != nil {
			return err
		}
		if _, given := r.placeholders[name]; given {
			return r.Errorf("%s is given twice", name)
		}
		r.placeholders[name] = x
	}
	if err := r.Err(); err != nil {
		return err
	}
	return fmt.Errorf("the file ends before @model")
}

func (r *reader) judgeHeader() error {
	switch t := r.header["@type"]; strings.ToLower(t) {
	case "dtmc":
		r.m.Players = 0
	case "mdp":
	case "ctmc", "ma":
		return r.Errorf("@type: continuous-time models (%s) are not supported", t)
	case "pomdp":
		return r.Errorf("@type: partially observable models (%s) are not supported", t)
	case "":
		return r.Errorf("@type is missing: want DTMC or MDP")
	default:
		return r.Errorf("@type: models of type %s are not supported: want DTMC or MDP", source.Quote(t))
	}
	switch t := r.header["@value_type"]; t {
	case "", "double", "rational":
	case "double-interval", "rational-interval":
		r.intervals = true
	default:
		return r.Errorf("@value_type: numbers of type %s are not supported: want double or rational", source.Quote(t))
	}
	if p := r.header["@parameters"]; p != "" {
		return r.Errorf("@parameters: models with parameters (%s) are not supported", source.Quote(p))
	}
	r.rewardNames = strings.Fields(r.header["@reward_models"])
	for key, n := range map[string]*int{"@nr_states": &r.states, "@nr_choices": &r.choices} {
		text, ok := r.header[key]
		if !ok && key == "@nr_choices" {
			continue // old files have none
		}
		i, err := strconv.ParseUint(text, 10, 31)
		if err != nil || i == 0 && key == "@nr_states" {
			return r.Errorf("%s: got %s: want a whole number", key, source.Quote(text))
		}
		*n = int(i)
	}
	return nil
}
