package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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

	var tests, differences strings.Builder
	for _, s := range sources(t, root) {
		if s.test() {
			text := read(t, filepath.Join(root, s.pkg, s.name))
			tests.WriteString(text)
			if strings.Contains(strings.ToLower(text), "difference") {
				differences.WriteString(text)
			}
		}
	}
	name := regexp.MustCompile("`(Test[A-Z]\\w+)`")
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
			found := name.FindAllStringSubmatch(row[len(row)-1], -1)
			assert.NotEmpty(t, found, "no test is named for: %s", row[0])
			for _, m := range found {
				require.True(t, strings.Contains(tests.String(), "func "+m[1]+"("), "no %s, of: %s", m[1], row[0])
			}
		}
	}
	require.Greater(t, shown, 30)
	require.Greater(t, told, 20)
}

// rowsOf returns the rows of the tables in a text, without their heads.
func rowsOf(text string) (rows [][]string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--") {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), " |") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}
