package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocsTypes holds docs/types.md to its word: the tables of types are made of captured events, each row of the others names a test
// that shows it, and each number under "What the event does not tell" stands in the tests' lists of known differences, or names one, too.
func TestDocsTypes(t *testing.T) {
	root := moduleRoot(t)
	page := read(t, filepath.Join(root, "docs/types.md"))
	begin, end := strings.Index(page, "<!-- Made of the captured events: run make rewrite. -->"), strings.Index(page, "<!-- The end of what is made. -->")
	require.True(t, begin > 0 && end > begin, "the tables of types are made by TestTypesReference")
	page = page[:begin] + page[end:]

	tests := testSources(t, root)
	var differences strings.Builder
	for _, text := range tests {
		if strings.Contains(strings.ToLower(text), "difference") {
			differences.WriteString(text)
		}
	}
	defined := definedTests(tests)
	shown, told := 0, 0
	for _, section := range strings.Split(page, "\n## ") {
		heading, text, _ := strings.Cut(section, "\n")
		for _, row := range rowsOf(text) {
			if heading == "What the event does not tell" {
				told++
				listed := true
				for number := range strings.SplitSeq(row[0], ", ") {
					listed = listed && regexp.MustCompile(`"([0-9, ]+, )?`+number+`[:,] `).MatchString(differences.String())
				}
				if listed {
					continue
				}
			}
			shown++
			requireShown(t, defined, row)
		}
	}
	require.Greater(t, shown, 30)
	require.Greater(t, told, 20)
}
