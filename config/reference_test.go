package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const referenceFile = "../docs/configuration.md"

const referenceHead = `# Configuration

<!-- Made of the comments in config/config.go: change those, then run make rewrite. -->

` + "`sink run -c sink.yaml`" + ` reads one YAML file. A small one:

` + "```yaml" + `
kafka:
  brokers: [127.0.0.1:9092]
  group: orders-lake
warehouse: file:///var/lake
tables:
  - topic: shop.public.orders
    table: shop.orders
` + "```" + `

- **Strict.** An unknown key, a key twice, a wrong type or a bad value is an error. All errors of a file are shown at once, each with its
  line. ` + "`sink check -c sink.yaml`" + ` looks at the file and at what it names.
- **Sizes** are numbers with a unit: ` + "`KiB`, `MiB`, `GiB`" + ` are powers of 1024, ` + "`kB`, `MB`, `GB`" + ` powers of 1000. (In Paimon's own table options, ` + "`128 mb`" + ` is 128 MiB.)
- **Times** have a unit: ` + "`500ms`, `10s`, `1h30m`, `7d`" + `.
- **Secrets** (type *secret*) come from the file, as ` + "`password: ...`" + `; from a file of their own, as ` + "`password-file: /run/secrets/kafka`" + `; or from
  the environment, as ` + "`password-env: KAFKA_PASSWORD`" + ` or ` + "`password: ${KAFKA_PASSWORD}`" + `. They are never printed. The form ` + "`${NAME}`" + ` works for the whole
  value of a secret or a user name, and nowhere else.
- **A list** of one may be written without the brackets.
- **Files** are looked for from the folder of the configuration.
- YAML anchors (` + "`&a`, `*a`, `<<: *a`" + `) work.

`

// TestReference holds docs/configuration.md against the structs; -rewrite writes it anew.
func TestReference(t *testing.T) {
	text := renderReference(t)
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		require.NoError(t, os.WriteFile(referenceFile, []byte(text), 0o644))
	}
	have, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "docs/configuration.md is out of date: run make rewrite")
}

// renderReference renders every key of the structs: their comments, types and defaults.
func renderReference(t *testing.T) string {
	r := &renderer{docs: docsOf(t), defaults: reflect.ValueOf(Default()).Elem()}
	r.out.WriteString(referenceHead)
	r.section("The top of the file", "", reflect.TypeFor[Config](), r.defaults)
	for len(r.later) > 0 {
		next := r.later[0]
		r.later = r.later[1:]
		next()
	}
	return r.out.String()
}

type renderer struct {
	out      strings.Builder
	docs     map[string]string // "Struct" and "Struct.Field" to comment
	defaults reflect.Value
	later    []func()
	done     []string
}

func (r *renderer) section(title, key string, typ reflect.Type, value reflect.Value) {
	fmt.Fprintf(&r.out, "## %s\n\n", title)
	if key != "" {
		fmt.Fprintf(&r.out, "%s\n\n", r.docs[typ.Name()])
	}
	r.out.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	r.rows(key, typ, value)
	r.out.WriteString("\n")
}

func (r *renderer) rows(key string, typ reflect.Type, value reflect.Value) {
	for f := range typ.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		doc := strings.ReplaceAll(r.docs[typ.Name()+"."+f.Name], "|", `\|`)
		switch {
		case option == "inline":
			r.rows(key, f.Type, value.FieldByIndex(f.Index))
		case name != "":
			def := value.FieldByIndex(f.Index)
			path := join2(key, name)
			if elem := f.Type; elem.Kind() == reflect.Struct && elem.NumField() > 0 && elem.Field(0).Tag.Get("yaml") != "" {
				r.nested(path, elem, def)
				doc += fmt.Sprintf(" See [%s](#%s).", elem.Name(), strings.ToLower(elem.Name()))
			}
			if f.Type == reflect.TypeFor[[]Table]() {
				r.nested("tables[]", reflect.TypeFor[Table](), reflect.ValueOf(defaultTable()))
				doc += " See [Table](#table)."
			}
			fmt.Fprintf(&r.out, "| `%s` | %s | %s | %s |\n", path, typeName(f), defaultText(f, def, key), doc)
		}
	}
}

// nested gives a struct a section of its own, once.
func (r *renderer) nested(key string, typ reflect.Type, def reflect.Value) {
	for _, d := range r.done {
		if d == typ.Name() {
			return
		}
	}
	r.done = append(r.done, typ.Name())
	r.later = append(r.later, func() { r.section(typ.Name(), key, typ, def) })
}

func typeName(f reflect.StructField) string {
	if e := enum(f.Tag); e != nil && f.Type.Kind() == reflect.String {
		return "`" + strings.Join(e, "` `") + "`"
	}
	switch f.Type {
	case reflect.TypeFor[Secret]():
		return "secret"
	case reflect.TypeFor[Bytes]():
		return "size"
	case reflect.TypeFor[Duration]():
		return "time"
	case reflect.TypeFor[*Regexp]():
		return "expression"
	case reflect.TypeFor[[]Regexp]():
		return "list of expressions"
	case reflect.TypeFor[[]Table]():
		return "list of tables"
	case reflect.TypeFor[Path]():
		return "file"
	case reflect.TypeFor[[]string]():
		return "list of text"
	case reflect.TypeFor[map[string]string](), reflect.TypeFor[[]Named]():
		if e := enum(f.Tag); e != nil {
			return "name: `" + strings.Join(e, "` `") + "`"
		}
		return "name: text"
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool]():
		return "`true` `false`"
	case reflect.TypeFor[int64]():
		return "number"
	case reflect.TypeFor[string]():
		return "text"
	}
	return "mapping"
}

func defaultText(f reflect.StructField, v reflect.Value, key string) string {
	switch {
	case f.Tag.Get("required") != "":
		return "*required*"
	case v.Kind() == reflect.Bool:
		return fmt.Sprintf("`%v`", v.Interface())
	case v.IsZero() && key == "tables[]" && (enum(f.Tag) != nil && v.Kind() == reflect.String || v.Kind() == reflect.Struct):
		return "the file's"
	case v.IsZero(), v.Kind() == reflect.Struct:
		return ""
	}
	return fmt.Sprintf("`%v`", v.Interface())
}

// docsOf returns the comments of the structs and their fields in config.go, each as one line.
func docsOf(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	require.NoError(t, err)
	docs := map[string]string{}
	line := func(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			docs[typ.Name.Name] = strings.ReplaceAll(line(gen.Doc), "[Default]", "Default")
			for _, f := range typ.Type.(*ast.StructType).Fields.List {
				if f.Doc != nil && len(f.Names) > 0 {
					docs[typ.Name.Name+"."+f.Names[0].Name] = line(f.Doc)
				}
			}
		}
	}
	return docs
}

// TestEveryKeyIsTold sees that no key is without a comment, and that the full example has them all.
func TestEveryKeyIsTold(t *testing.T) {
	docs := docsOf(t)
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for f := range typ.Fields() {
			name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "" && option == "" {
				continue
			}
			if option == "" {
				require.NotEmpty(t, docs[typ.Name()+"."+f.Name], "%s.%s has no comment", typ.Name(), f.Name)
			}
			if f.Type.Kind() == reflect.Struct && f.Type.Field(0).Tag.Get("yaml") != "" {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
	walk(reflect.TypeFor[Table]())

	text, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	for _, path := range keyPaths(reflect.TypeFor[Config](), "") {
		name := path[strings.LastIndex(path, ".")+1:]
		require.Contains(t, string(text), name, "testdata/full.yaml lacks %s", path)
	}
}
