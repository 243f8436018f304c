package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocsTests looks for the tests that the pages name.
func TestDocsTests(t *testing.T) {
	defined := definedTests(testSources(t, moduleRoot(t)))
	for _, page := range pages(t) {
		for _, name := range testName.FindAllString(read(t, page), -1) {
			assert.Contains(t, defined, name, "%s names a test that there is not", page)
		}
	}
}

// TestDocsClaims holds docs/exactly-once.md to its word: each claim of its last table names a test that shows it.
func TestDocsClaims(t *testing.T) {
	root := moduleRoot(t)
	defined := definedTests(testSources(t, root))
	_, section, ok := strings.Cut(read(t, filepath.Join(root, "docs/exactly-once.md")), "\n## Where it is shown\n")
	require.True(t, ok)
	claims := rowsOf(section)
	require.Greater(t, len(claims), 15)
	for _, row := range claims {
		require.Len(t, row, 2, "a claim and its tests: %q", row)
		requireShown(t, defined, row)
	}
}

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w+`)
	testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w+)\(t \*testing\.T\) \{$`)
)

// requireShown sees that the last cell of a row names tests, and only such as there are.
func requireShown(t *testing.T, defined map[string]bool, row []string) {
	t.Helper()
	found := testName.FindAllString(row[len(row)-1], -1)
	assert.NotEmpty(t, found, "no test is named for: %s", row[0])
	for _, name := range found {
		assert.Contains(t, defined, name, "there is no such test, of: %s", row[0])
	}
}

// testSources returns the text of every file of tests, those behind build tags too.
func testSources(t *testing.T, root string) (texts []string) {
	t.Helper()
	for _, s := range sources(t, root) {
		if s.test() {
			texts = append(texts, read(t, filepath.Join(root, s.pkg, s.name)))
		}
	}
	return texts
}

// definedTests returns the names of the tests that the texts define.
func definedTests(texts []string) map[string]bool {
	names := map[string]bool{}
	for _, text := range texts {
		for _, m := range testFunc.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
	}
	return names
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
