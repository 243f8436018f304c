package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes bounds the file: more is surely not a configuration.
const maxFileBytes = 16 << 20

// Source is what [Parse] may ask of the outside: the environment, and files that hold secrets.
type Source struct {
	LookupEnv func(name string) (string, bool)
	ReadFile  func(name string) ([]byte, error)
}

// Load reads a configuration file. The error joins every [*Problem] of the file.
func Load(name string) (*Config, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no configuration file %s: name one with -c", name)
	}
	if err == nil && info.Size() > maxFileBytes {
		return nil, fmt.Errorf("configuration file %s has %d bytes: more than %d is not read", name, info.Size(), maxFileBytes)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration file: %w", err)
	}
	return Parse(name, text, Source{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile})
}

// Parse reads a configuration from text. The file's name is used in messages and as the place of relative paths. The
// error joins every [*Problem].
func Parse(name string, text []byte, from Source) (*Config, error) {
	c := Default()
	c.file, c.at = name, map[string]position{}
	root, problem := parse(name, text)
	if problem != nil {
		return nil, problem
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("find the folder of %s: %w", name, err)
	}
	d := &decoder{from: from, file: name, dir: dir, at: c.at}
	d.decode(root, "", reflect.ValueOf(c).Elem(), "")
	c.complete()
	v := &validator{Config: c, problems: d.problems}
	v.validate()
	if len(v.problems) > 0 {
		return nil, join(v.problems)
	}
	return c, nil
}

// complete sets what depends on other keys: limits that were not given fit into the memory, and a table takes the file's
// policies where it has none.
func (c *Config) complete() {
	given := func(key string) bool { return c.at[key] != (position{}) }
	if !given("checkpoint.bytes") {
		c.Checkpoint.Bytes = min(c.Checkpoint.Bytes, c.Memory/2)
	}
	if !given("kafka.fetch.bytes") {
		c.Kafka.Fetch.Bytes = min(c.Kafka.Fetch.Bytes, c.Memory/8)
	}
	if !given("kafka.fetch.partition-bytes") {
		c.Kafka.Fetch.PartitionBytes = min(c.Kafka.Fetch.PartitionBytes, c.Kafka.Fetch.Bytes)
	}
	if c.DeadLetter.Path != "" && !given("dead-letter.topic") {
		c.DeadLetter.Topic = ""
	}
	for i := range c.Tables {
		c.Tables[i].Policies = c.Tables[i].Policies.inherit(c.Policies)
	}
}

// parse returns the one document of a text.
func parse(name string, text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root *yaml.Node
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxProblem(name, text, err)
		}
		if len(doc.Content) == 0 || isNull(doc.Content[0]) {
			continue
		}
		if root != nil {
			at := positionOf(doc.Content[0])
			return nil, &Problem{File: name, Line: at.line, Column: at.column, Text: "is a second document: one file is one configuration"}
		}
		root = doc.Content[0]
	}
	if root == nil {
		return nil, &Problem{File: name, Text: "is empty: it needs at least kafka, warehouse and tables"}
	}
	return root, nil
}

var (
	syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	tabIndent  = regexp.MustCompile(`^ *\t`)
)

// syntaxProblem gives the parser's message its place. Of a tab that indents a line it says only that a character cannot be there.
func syntaxProblem(name string, text []byte, err error) *Problem {
	p := &Problem{File: name, Line: 1, Column: 1, Text: "is not YAML: " + syntaxLine.ReplaceAllString(err.Error(), "")}
	if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		p.Line, _ = strconv.Atoi(m[1])
	}
	lines := bytes.Split(text, []byte("\n"))
	if strings.Contains(p.Text, "cannot start any token") && p.Line >= 1 && p.Line <= len(lines) && tabIndent.Match(lines[p.Line-1]) {
		p.Text = "is not YAML: a tab at the beginning of a line; YAML is indented by spaces"
	}
	return p
}
