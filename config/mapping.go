package config

import (
	"iter"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry is one key of a mapping.
type entry struct {
	name  string
	at    position // of the key
	value *yaml.Node
}

// entries returns the keys of a mapping in their order, with merged ones (<<) first and overridden by the mapping's own. A
// key given twice is a problem.
func (d *decoder) entries(n *yaml.Node, at position, key string) ([]entry, bool) {
	if n.Kind != yaml.MappingNode {
		d.problem(at, key, "wants a mapping of keys to values, not %s", describe(n))
		return nil, false
	}
	var out []entry
	for k, v := range pairs(n) {
		if isMerge(k) {
			out = append(d.merge(v, key), out...)
		}
	}
	merged := len(out) // how many came by <<
	for k, v := range pairs(n) {
		if isMerge(k) {
			continue
		}
		e := entry{name: k.Value, at: positionOf(k), value: v}
		i := slices.IndexFunc(out, func(o entry) bool { return o.name == e.name })
		switch {
		case i < 0:
			out = append(out, e)
		case i < merged:
			// From now on it is the mapping's own: a second one is a duplicate.
			out = append(slices.Delete(out, i, i+1), e)
			merged--
		default:
			d.problem(e.at, join2(key, e.name), "is given twice, first in line %d: remove one", out[i].at.line)
		}
	}
	return out, true
}

// pairs yields the keys and values of a mapping.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// isMerge reports whether a key is <<.
func isMerge(k *yaml.Node) bool { return scalarTag(k) == "!!merge" }

// merge returns the entries of what a << names: a mapping or a list of mappings.
func (d *decoder) merge(n *yaml.Node, key string) []entry {
	if d.depth >= maxDepth {
		d.problem(positionOf(n), key, "is a merge (<<) that leads in a circle")
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	at := positionOf(n)
	if n = d.resolve(n, key); n == nil {
		return nil
	}
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	var out []entry
	for _, m := range nodes {
		if m = d.resolve(m, key); m == nil {
			continue
		}
		entries, _ := d.entries(m, at, key)
		for _, e := range entries { // the first one that has a key wins
			if !slices.ContainsFunc(out, func(o entry) bool { return o.name == e.name }) {
				out = append(out, e)
			}
		}
	}
	return out
}

func join2(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// field is one key that a struct has.
type field struct {
	name  string
	tag   reflect.StructTag
	index []int
	typ   reflect.Type
}

// fieldsOf returns the keys of a struct, those of embedded structs among them.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			for _, in := range fieldsOf(f.Type) {
				in.index = append(slices.Clone(f.Index), in.index...)
				out = append(out, in)
			}
		case name != "":
			out = append(out, field{name: name, tag: f.Tag, index: f.Index, typ: f.Type})
		}
	}
	return out
}

// mapping sets a struct.
func (d *decoder) mapping(n *yaml.Node, at position, key string, dst reflect.Value) {
	var entries []entry
	if !isNull(n) {
		var ok bool
		if entries, ok = d.entries(n, at, key); !ok {
			return
		}
	}
	fields := fieldsOf(dst.Type())
	given := map[string]entry{}
	for _, e := range entries {
		path := join2(key, e.name)
		d.at[path] = e.at
		name, _ := secretForm(e.name)
		i := slices.IndexFunc(fields, func(f field) bool {
			return f.name == e.name || f.name == name && f.typ == reflect.TypeFor[Secret]()
		})
		if i < 0 {
			d.problem(e.at, path, "unknown key%s", d.hint(e.name, key, fields))
			continue
		}
		f := fields[i]
		if f.typ == reflect.TypeFor[Secret]() {
			if first, twice := given[f.name]; twice {
				d.problem(e.at, path, "is given beside %s: one of %s, %[3]s-file, %[3]s-env is enough", first.name, first.name, f.name)
				continue
			}
		}
		given[f.name] = e
		if _, form := secretForm(e.name); f.name != e.name {
			d.secret(e, path, form, dst.FieldByIndex(f.index))
			continue
		}
		d.decode(e.value, path, dst.FieldByIndex(f.index), f.tag)
	}
	for _, f := range fields {
		if _, ok := given[f.name]; !ok && f.tag.Get("required") != "" {
			d.problem(place(d.at, key), join2(key, f.name), "is missing")
		}
	}
}

// secretForm splits "password-file" into "password" and "file".
func secretForm(name string) (base, form string) {
	for _, form := range []string{"file", "env"} {
		if base, ok := strings.CutSuffix(name, "-"+form); ok {
			return base, form
		}
	}
	return name, ""
}

// secret sets a secret from a file or from the environment.
func (d *decoder) secret(e entry, key, form string, dst reflect.Value) {
	at := positionOf(e.value)
	n := d.resolve(e.value, key)
	if n == nil {
		return
	}
	text, ok := d.text(n, at, key, false)
	if !ok {
		return
	}
	switch form {
	case "env":
		dst.Set(reflect.ValueOf(NewSecret(d.env(text, at, key))))
	case "file":
		b, err := d.from.ReadFile(d.absolute(text))
		if err != nil {
			d.problem(at, key, "cannot be read: %v", err)
			return
		}
		value := strings.TrimRight(string(b), "\r\n")
		if value == "" {
			d.problem(at, key, "%s is empty", d.absolute(text))
			return
		}
		dst.Set(reflect.ValueOf(NewSecret(value)))
	}
}

var envForm = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// expand returns the environment variable that a text ${NAME} names, or the text itself.
func (d *decoder) expand(text string, at position, key string) string {
	if m := envForm.FindStringSubmatch(text); m != nil {
		return d.env(m[1], at, key)
	}
	return text
}

func (d *decoder) env(name string, at position, key string) string {
	value, ok := d.from.LookupEnv(name)
	if !ok || value == "" {
		d.problem(at, key, "environment variable %s is not set", name)
	}
	return value
}

// absolute returns a path as seen from the folder of the file.
func (d *decoder) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.dir, path)
}

// hint says what the user may have meant by an unknown key: one that is spelled alike, or one of another place.
func (d *decoder) hint(name, key string, fields []field) string {
	var known []string
	for _, f := range fields {
		known = append(known, f.name)
		if f.typ == reflect.TypeFor[Secret]() {
			known = append(known, f.name+"-file", f.name+"-env")
		}
	}
	if s := DidYouMean(name, known); s != "" {
		return s
	}
	for _, path := range keyPaths(reflect.TypeFor[Config](), "") {
		if place := strings.TrimSuffix(path, name); place != path && (place == "" || strings.HasSuffix(place, ".")) {
			if place == "" {
				return "; it belongs at the top of the file"
			}
			return "; it belongs under " + strings.TrimSuffix(place, ".")
		}
	}
	slices.Sort(known)
	return "; known here: " + strings.Join(known, ", ")
}

// keyPaths returns every key of the file as a path: "kafka.tls.ca", "tables[].topic".
func keyPaths(t reflect.Type, prefix string) []string {
	var out []string
	for _, f := range fieldsOf(t) {
		path := join2(prefix, f.name)
		out = append(out, path)
		typ := f.typ
		if typ.Kind() == reflect.Slice {
			typ, path = typ.Elem(), path+"[]"
		}
		if typ.Kind() == reflect.Struct {
			out = append(out, keyPaths(typ, path)...)
		}
	}
	return out
}
