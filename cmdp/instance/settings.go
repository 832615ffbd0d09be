package instance

import (
	"cmdpsolve/internal/nearest"
	"fmt"
	"strings"
)

// A setting is one key=value of a spec.
type setting struct{ key, value string }

func parseSettings(list string) ([]setting, error) {
	var settings []setting
	seen := make(map[string]bool)
	for item := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(item, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok || key == "":
			return nil, fmt.Errorf("parameter %q: want key=value", item)
		case value == "":
			return nil, fmt.Errorf("parameter %s: no value after the equals sign", key)
		case seen[key]:
			return nil, fmt.Errorf("parameter %s given twice", key)
		}
		seen[key] = true
		settings = append(settings, setting{key, value})
	}
	return settings, nil
}

func set(params []parameter, s setting) error {
	names := make([]string, len(params))
	for i, p := range params {
		if p.name == s.key {
			return p.set(s.value)
		}
		names[i] = p.name
	}
	return fmt.Errorf("unknown parameter %q: want one of %s", s.key, nearest.List(s.key, names))
}

// specOf returns the shortest spec of a definition: the parameters in which it
// differs from its defaults.
func specOf(name string, own, defaults []parameter) string {
	var b strings.Builder
	b.WriteString(name)
	sep := ":"
	for i, p := range own {
		if text := p.text(); text != defaults[i].text() {
			b.WriteString(sep + p.name + "=" + text)
			sep = ","
		}
	}
	return b.String()
}
