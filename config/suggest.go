package config

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns `; did you mean "x"?` for the candidate nearest to a misspelled name, or nothing when none is near. One that has
// the name as one of its words is nearest.
func DidYouMean(name string, candidates []string) string {
	best, least := "", len(name)/3+2
	for _, c := range candidates {
		if slices.Contains(strings.FieldsFunc(string(fold(c)), func(r rune) bool { return r == '-' || r == '.' }), string(fold(name))) {
			return fmt.Sprintf("; did you mean %q?", c)
		}
		if d := editDistance(name, c); d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours between two texts, letter case and
// the difference of _ and - aside.
func editDistance(a, b string) int {
	x, y := fold(a), fold(b)
	if len(x) > 64 || len(y) > 64 {
		return len(x) + len(y)
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}

func fold(s string) []byte {
	b := []byte(s)
	for i, c := range b {
		switch {
		case c == '_':
			b[i] = '-'
		case 'A' <= c && c <= 'Z':
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}
