package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// latexSigns are the signs of guarantees beyond those of numbers.
var latexSigns = map[rune]string{
	'√': `$\surd$`, 'Õ': `$\tilde{O}$`, '∈': `$\in$`, 'γ': `$\gamma$`, 'δ': `$\delta$`, 'ε': `$\varepsilon$`, 'κ': `$\kappa$`,
	'ρ': `$\rho$`, 'τ': `$\tau$`, 'η': `$\eta$`, 'ι': `$\iota$`, 'θ': `$\theta$`, 'λ': `$\lambda$`, 'α': `$\alpha$`, 'β': `$\beta$`,
	'Ξ': `$\Xi$`, 'Σ': `$\Sigma$`, '‖': `$\Vert$`, '·': `$\cdot$`, '×': `$\times$`, '≤': `$\le$`, '≥': `$\ge$`, '±': `$\pm$`, '−': `$-$`,
	'–': `--`, '—': `---`, '…': `\dots{}`, '∞': `$\infty$`, '²': `$^2$`, '³': `$^3$`, '⁴': `$^4$`, '⁵': `$^5$`, '⁶': `$^6$`, '₀': `$_0$`,
	'₁': `$_1$`, '₂': `$_2$`, '∪': `$\cup$`, '∩': `$\cap$`, 'ℓ': `$\ell$`, '’': `'`, '“': "``", '”': `''`,
	'à': "\\`a", 'á': `\'a`, 'é': `\'e`, 'è': "\\`e", 'ü': `\"u`, 'ö': `\"o`, 'ä': `\"a`, 'ß': `\ss{}`, 'í': `\'{\i}`, 'ó': `\'o`, 'ć': `\'c`,
}

// latexText writes any text so that pdflatex takes it; of a sign that is not known
// its number is left.
func latexText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch sign, known := latexSigns[r]; {
		case known:
			b.WriteString(sign)
		case r < utf8.RuneSelf:
			b.WriteString(latexEscapes.Replace(string(r)))
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}

// latexCell is latexText with a minus before a number that is negative.
func latexCell(s string) string { return withMinus(s, latexText) }

// latex writes a tabular with the rules of booktabs: numbers to the right, words
// to the left. What it is about, and the notes, stand before it as comments.
func (w *compareWriter) latex(about string, t *table, notes ...string) error {
	columns := make([]byte, len(t.header))
	for i, name := range t.header {
		columns[i] = 'r'
		switch name {
		case "algorithm", "guarantee", "note", "needs", "source":
			columns[i] = 'l'
		case "non-linear cost", "non-linear constraints", "efficient":
			columns[i] = 'c'
		}
	}
	var b strings.Builder
	b.WriteString("% \\usepackage{booktabs}\n")
	for _, text := range append([]string{about}, notes...) {
		fmt.Fprintf(&b, "%% %s\n", latexComment(text))
	}
	fmt.Fprintf(&b, "\\begin{tabular}{%s}\n\\toprule\n", columns)
	line := func(cells []string) { b.WriteString(strings.Join(escapeAll(cells, latexCell), " & ") + " \\\\\n") }
	line(t.header)
	b.WriteString("\\midrule\n")
	for _, row := range t.rows {
		line(row)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	_, err := io.WriteString(w.out, b.String())
	return err
}

var asciiSigns = strings.NewReplacer("±", "+-", "−", "-", "–", "-", "≤", "<=", "≥", ">=", "√", "sqrt", "Õ", "O~")

// latexComment keeps a text on one line, in ASCII.
func latexComment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, asciiSigns.Replace(s))
}
