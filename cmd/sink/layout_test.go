package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The life of a record is the layout, and imports only point along it or at the nouns under table/.

// layout lists every package and what it may import of this module. Tests may import more, but for integration/, which
// sees the binary from outside.
var layout = map[string][]string{
	"cmd/sink": {
		"config", "connector", "connector/compute", "debezium", "table", "table/object", "table/datafile", "table/arrowipc", "table/manifest", "table/scan",
		"flush", "flush/compact", "commit", "commit/expire", "connector/upkeep", "table/verify",
	},
	"config":                  {},
	"connector":               {"debezium", "connector/compute", "table", "table/object", "table/scan", "flush", "commit", "commit/expire", "connector/upkeep"},
	"table/verify":            {"table", "table/object", "table/datafile", "table/manifest", "table/scan", "table/merge"},
	"debezium":                {"table"},
	"connector/compute":       {"table"},
	"table":                   {},
	"table/object":            {},
	"table/object/objecttest": {"table/object"},
	"table/merge":             {"table"},
	"table/datafile":          {"table", "table/object", "table/merge"},
	"table/arrowipc":          {"table"},
	"table/manifest":          {"table", "table/object"},
	"table/goldentest":        {},
	"table/scan":              {"table", "table/object", "table/merge", "table/datafile", "table/manifest"},
	"flush":                   {"table", "table/object", "table/merge", "table/datafile", "flush/compact"},
	"flush/compact":           {"table", "table/object", "table/merge", "table/datafile"},
	"commit":                  {"table", "table/object", "table/manifest"},
	"commit/expire":           {"table", "table/object", "table/manifest", "commit"},
	"connector/upkeep":        {"table", "table/object", "table/manifest", "flush/compact", "commit", "commit/expire"},
	"integration":             {"table/object", "table/object/objecttest", "table/goldentest"},
	"integration/simulation":  {},
}

// doors lists the third-party modules that only these packages may use. Tests may open other doors.
var doors = map[string][]string{
	"github.com/minio/minio-go":     {"table/object"},
	"github.com/parquet-go":         {"table/datafile"},
	"github.com/apache/arrow-go":    {"table/arrowipc"},
	"github.com/linkedin/goavro":    {"table/manifest", "debezium"},
	"github.com/twmb/franz-go":      {"connector", "cmd/sink"},
	"github.com/rs/zerolog":         {"connector", "cmd/sink"},
	"github.com/prometheus":         {"cmd/sink"},
	"github.com/spf13/cobra":        {"cmd/sink"},
	"go.yaml.in/yaml/v3":            {"config"},
	"github.com/stretchr/testify":   {"table/object/objecttest"},
	"github.com/google/go-cmp":      {},
	"go.uber.org/goleak":            {},
	"github.com/cockroachdb":        {},
	"golang.org/x/crypto/ssh":       {},
	"github.com/klauspost/compress": {"table/datafile", "table/goldentest", "table/manifest"},
}

// others are trees whose programs are no part of the service.
var others = []string{"bench", "examples"}

// maxLines is where a file has become more than one noun.
const maxLines = 600

type source struct {
	pkg     string // relative to the module's root
	name    string
	imports []string
	lines   int
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

// sources parses the imports of every Go file of the module, whatever its build tags.
func sources(t *testing.T, root string) []source {
	t.Helper()
	var found []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && name != root) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s := source{
			pkg: path.Dir(filepath.ToSlash(rel)), name: path.Base(filepath.ToSlash(rel)),
			lines: strings.Count(string(text), "\n"),
		}
		for _, spec := range file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, target)
		}
		found = append(found, s)
		return nil
	})
	require.NoError(t, err)
	return slices.DeleteFunc(found, func(s source) bool {
		return slices.ContainsFunc(others, func(tree string) bool { return s.pkg == tree || strings.HasPrefix(s.pkg, tree+"/") })
	})
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "go.mod"))
	return root
}

func TestLayoutImports(t *testing.T) {
	for _, s := range sources(t, moduleRoot(t)) {
		allowed, known := layout[s.pkg]
		if !known {
			t.Errorf("package %s is not in the layout", s.pkg)
			continue
		}
		for _, target := range s.imports {
			if within, ours := strings.CutPrefix(target, "sink/"); ours {
				if (!s.test() || s.pkg == "integration") && !slices.Contains(allowed, within) {
					t.Errorf("%s/%s imports %s; %s may import only %v", s.pkg, s.name, target, s.pkg, allowed)
				}
				continue
			}
			if s.test() {
				continue
			}
			for module, packages := range doors {
				if strings.HasPrefix(target, module) && !slices.Contains(packages, s.pkg) {
					t.Errorf("%s/%s imports %s; the door to it is %v", s.pkg, s.name, target, packages)
				}
			}
		}
	}
}

func TestLayoutDocs(t *testing.T) {
	documented := map[string]bool{}
	all := sources(t, moduleRoot(t))
	for _, s := range all {
		documented[s.pkg] = documented[s.pkg] || s.name == "doc.go"
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no doc.go", pkg)
		}
	}
}

func TestLayoutNames(t *testing.T) {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"}
	for _, s := range sources(t, moduleRoot(t)) {
		if slices.Contains(drawers, path.Base(s.pkg)) {
			t.Errorf("package %s: code lives beside its use", s.pkg)
		}
		if base := strings.TrimSuffix(strings.TrimSuffix(s.name, ".go"), "_test"); slices.Contains(drawers, base) {
			t.Errorf("%s/%s: a file is named for its noun", s.pkg, s.name)
		}
		if s.lines > maxLines {
			t.Errorf("%s/%s has %d lines: split it, %d is the limit", s.pkg, s.name, s.lines, maxLines)
		}
	}
}

// TestLayoutComplete fails for a package of the table above that is gone.
func TestLayoutComplete(t *testing.T) {
	root := moduleRoot(t)
	var missing []string
	for pkg := range layout {
		if found, err := filepath.Glob(filepath.Join(root, pkg, "*.go")); err != nil || len(found) == 0 {
			missing = append(missing, pkg)
		}
	}
	sort.Strings(missing)
	require.Empty(t, missing, "packages of the layout without a Go file")
}
