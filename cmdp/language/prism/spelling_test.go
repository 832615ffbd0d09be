package prism_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// spaced writes other blanks and comments into a text in PRISM's language.
func spaced(rng *rand.Rand, text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == ' ' && rng.IntN(4) == 0 {
			b.WriteString([]string{"  ", "\n", "\t", "\r\n", " // [a] x0'=ä\n"}[rng.IntN(5)])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// shuffled writes a text in JSON with the keys of objects in another order, with blanks, comments, and letters that
// are written in numbers.
func shuffled(rng *rand.Rand, text string) string {
	var root any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		panic(err)
	}
	var write func(of any) string
	write = func(of any) string {
		var parts []string
		blank := []string{"", "", " ", "\n\t"}[rng.IntN(4)]
		switch of := of.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(of)) {
				parts = append(parts, strconv.Quote(key)+blank+":"+blank+write(of[key]))
			}
			if rng.IntN(8) == 0 {
				parts = append(parts, []string{`"comment":"ä"`, `"x-kept":[{"op":1}]`, `"x-none":null`}[rng.IntN(3)])
			}
			rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			return "{" + blank + strings.Join(parts, blank+",") + blank + "}"
		case []any:
			for _, item := range of {
				parts = append(parts, blank+write(item))
			}
			return "[" + strings.Join(parts, blank+",") + "]"
		case string:
			if of != "" && rng.IntN(8) == 0 && of[0] < 0x80 && of != "nowhere" {
				return fmt.Sprintf(`"\u%04x%s"`, of[0], of[1:])
			}
			return strconv.Quote(of)
		case nil:
			return "null"
		}
		return fmt.Sprint(of)
	}
	return write(root)
}

func one(rng *rand.Rand, texts ...string) string { return texts[rng.IntN(len(texts))] }
