package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"sink/config"
)

// TestExamples takes every example, and the file of docker-compose.yml, as run does, as far as that goes without a broker.
func TestExamples(t *testing.T) {
	for _, name := range []string{"KAFKA_PASSWORD", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"} {
		t.Setenv(name, "secret")
	}
	files, err := filepath.Glob("../../examples/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 3)
	groups := map[string]string{} // a second group on a table would write all of it again
	for _, file := range append(files, "../../deploy/compose/sink.yaml") {
		cfg, err := config.Load(file)
		require.NoError(t, err)
		settings, err := connectorConfig(cfg, zerolog.Nop())
		require.NoError(t, err)
		require.NotEmpty(t, settings.Tables, file)
		if other, ok := groups[cfg.Warehouse]; ok && strings.HasPrefix(cfg.Warehouse, "file:") {
			require.Equal(t, other, cfg.Kafka.Group, "%s shares its warehouse with another example", file)
		}
		groups[cfg.Warehouse] = cfg.Kafka.Group
	}
}

// TestDocsLinks follows the relative links of the pages.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			require.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}

// TestDocsMessages holds the messages of the pages against the source: what stands in the first column of the tables of
// docs/troubleshooting.md, … aside, is in a text of the program.
func TestDocsMessages(t *testing.T) {
	var source strings.Builder
	root := moduleRoot(t)
	for _, s := range sources(t, root) {
		if !s.test() && s.pkg != "integration" && s.pkg != "integration/simulation" {
			source.WriteString(read(t, filepath.Join(root, s.pkg, s.name)))
		}
	}
	// Texts that are split over lines, and the quotes in them.
	text := strings.NewReplacer("\"+\n", "").Replace(source.String())
	text = strings.ReplaceAll(regexp.MustCompile("\"\\+?\\s*\\+?\\s*\\n?\\s*\\+?\\s*\"").ReplaceAllString(text, ""), `\"`, `"`)
	first := regexp.MustCompile("(?m)^\\| `([^|]+)` \\|")
	messages := first.FindAllStringSubmatch(read(t, filepath.Join(root, "docs/troubleshooting.md")), -1)
	require.Greater(t, len(messages), 30)
	for _, m := range messages {
		for part := range strings.SplitSeq(m[1], "…") {
			if part = strings.Trim(part, " ,:;[]()"); len(part) > 3 && !strings.Contains(text, part) {
				t.Errorf("no text of the program has %q, of: %s", part, m[1])
			}
		}
	}
}

// pages lists the documents for users.
func pages(t *testing.T) []string {
	t.Helper()
	root := moduleRoot(t)
	docs, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	require.NoError(t, err)
	return append(docs, filepath.Join(root, "README.md"))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
