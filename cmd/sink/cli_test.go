package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sink/table/goldentest"

	"github.com/stretchr/testify/require"
)

// TestCLI runs the command lines of testdata/cli and compares all that they print. A line "$ sink ..." is a command; what
// follows up to the next is the answer: standard output, then standard error behind "! ", then the exit code if it is not
// 0. $W is a warehouse of golden tables, $T an empty folder of the test.
func TestCLI(t *testing.T) {
	scripts, err := filepath.Glob("testdata/cli/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	warehouse := goldenWarehouse(t)
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(script)
			require.NoError(t, err)
			dir := t.TempDir()
			var out strings.Builder
			for line := range strings.Lines(string(text)) {
				switch command, ok := strings.CutPrefix(line, "$ "); {
				case strings.HasPrefix(line, "## "):
					out.WriteString("\n" + line)
				case ok:
					out.WriteString("\n" + line)
					answer := runLine(t, strings.NewReplacer("$W", warehouse, "$T", dir).Replace(strings.TrimSpace(command)))
					out.WriteString(strings.NewReplacer(warehouse, "$W", dir, "$T").Replace(answer))
				}
			}
			golden(t, script, strings.TrimPrefix(out.String(), "\n"))
		})
	}
}

// runLine runs one command line and returns its answer.
func runLine(t *testing.T, line string) string {
	args := fields(line)
	require.Equal(t, "sink", args[0])
	code, stdout, stderr := runSink(t, "", args[1:]...)
	var out strings.Builder
	out.WriteString(stdout)
	for l := range strings.Lines(stderr) {
		out.WriteString("! " + l)
	}
	if code != 0 {
		fmt.Fprintf(&out, "exit %d\n", code)
	}
	return out.String()
}

// runSink runs a command in this process.
func runSink(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// fields splits a line at spaces; single quotes hold a word together.
func fields(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// goldenWarehouse unpacks the golden tables into a folder and returns it.
func goldenWarehouse(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, goldentest.Unpack("testdata/warehouse.tar.gz", dir))
	return dir
}
