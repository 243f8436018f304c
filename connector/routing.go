package connector

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sink/debezium"
)

// Case is what becomes of letters in the names of tables.
type Case string

// The cases.
const (
	KeepCase  Case = ""
	LowerCase Case = "lower"
	UpperCase Case = "upper"
)

// What patterns do not take unless told so: the shadow tables of online schema changes (gh-ost: _t_gho, _t_ghc, _t_del;
// pt-online-schema-change: _t_new, _t_old, __t_new; Vitess: _vt_...), whose rows are copies, and Debezium's signal table.
var (
	ghostTable  = regexp.MustCompile(`^(_.+_(gho|ghc|del|new|old)|_vt_.+)$`)
	signalTable = regexp.MustCompile(`^debezium_signals?$`)
)

// BySource reports whether the source of each record decides which table it is for, if any. Else the topic alone does.
func (t *Table) BySource() bool {
	return t.Source != nil || len(t.Except) > 0 || slices.ContainsFunc([]string{"${db}", "${schema}", "${table}"}, func(ref string) bool {
		return strings.Contains(t.Name, ref)
	})
}

// open reports whether the mapping says nothing of topics, so that it reads all but internal ones.
func (t *Table) open() bool { return t.Pattern == nil && len(t.Topics) == 0 }

// Matches reports whether the mapping reads the topic. A pattern does not match the shadow tables of online schema changes.
func (t *Table) Matches(topic string) bool {
	switch {
	case t.Pattern != nil:
		m := t.Pattern.FindString(topic)
		last := topic[strings.LastIndexByte(topic, '.')+1:]
		return m == topic && m != "" && (t.Ghosts || !ghostTable.MatchString(last))
	case t.open():
		return t.Source != nil && !strings.HasPrefix(topic, "_")
	}
	return slices.Contains(t.Topics, topic)
}

// Why a mapping does not take the events of a source.
const (
	notWanted = "unrouted" // no expression matches
	excluded  = "excluded"
	ghost     = "ghost-table"
	signal    = "signal-table"
)

// Refuses returns why the mapping does not take the events of a source; empty where it does.
func (t *Table) Refuses(source debezium.Source) string {
	name := source.String()
	switch {
	case t.Source != nil && !t.Source.MatchString(name):
		return notWanted
	case slices.ContainsFunc(t.Except, func(r *regexp.Regexp) bool { return r.MatchString(name) }):
		return excluded
	case !strings.Contains(t.Name, "${"): // one table: the user has it in mind
		return ""
	case !t.Ghosts && ghostTable.MatchString(source.Table):
		return ghost
	case signalTable.MatchString(source.Table):
		return signal
	}
	return ""
}

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// Target returns the name of the table that the records of a topic go to, database.table. ${topic}, ${db}, ${schema},
// ${table} and the groups ${1} of the mapping's expression are filled in, made safe as [SafeName] does; the first dot of
// the mapping's own text divides database and table.
func (t *Table) Target(topic string, source debezium.Source) (string, error) {
	re, subject := t.Pattern, topic
	if t.Source != nil {
		re, subject = t.Source, source.String()
	}
	var groups []string
	if re != nil {
		groups = re.FindStringSubmatch(subject)
	}
	var problem error
	fill := func(ref string) string {
		value, what := "", ref[2:len(ref)-1]
		switch what {
		case "topic":
			value = topic
		case "db":
			value = source.DB
		case "schema":
			value = source.Schema
		case "table":
			value = source.Table
		default:
			if n, err := strconv.Atoi(what); err == nil && n < len(groups) {
				value = groups[n]
			}
			return SafeName(t.fold(value)) // a group may match nothing
		}
		if value == "" && problem == nil {
			problem = fmt.Errorf("topic %s, source %s: %s of `table: %s` is empty there (MySQL has no schema): use another part", topic, source, ref, t.Name)
		}
		return SafeName(t.fold(value))
	}
	var b strings.Builder
	at := 0
	for _, m := range reference.FindAllStringIndex(t.Name, -1) {
		b.WriteString(t.fold(t.Name[at:m[0]]))
		b.WriteString(fill(t.Name[m[0]:m[1]]))
		at = m[1]
	}
	b.WriteString(t.fold(t.Name[at:]))
	if database, name, ok := strings.Cut(b.String(), "."); problem == nil && (!ok || database == "" || name == "" || strings.Contains(name, ".")) {
		problem = fmt.Errorf("topic %s: %q is no table name: it is database.table", topic, b.String())
	}
	return b.String(), problem
}

// Makes reports whether a table of that name can come from the mapping.
func (t *Table) Makes(name string) bool {
	var b strings.Builder
	at := 0
	for _, m := range reference.FindAllStringIndex(t.Name, -1) {
		b.WriteString(regexp.QuoteMeta(t.fold(t.Name[at:m[0]])) + `[^.]*`)
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(t.fold(t.Name[at:])))
	re, err := regexp.Compile("^(?:" + b.String() + ")$")
	return err == nil && re.MatchString(name)
}

func (t *Table) fold(s string) string {
	switch t.NameCase {
	case LowerCase:
		return strings.ToLower(s)
	case UpperCase:
		return strings.ToUpper(s)
	}
	return s
}

// SafeName writes a name so that it can be a part of a table's name and of a path: what Paimon, file systems and object
// stores give a meaning to is written as %XX, and so is the percent sign, so that two names never become one.
func SafeName(s string) string {
	const unsafe = `%/\.$:*?"<>|`
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(unsafe, r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f || strings.IndexByte(unsafe, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// rule tells what decides which records become rows of which tables, in a few letters: what was skipped under another rule
// says nothing of this one.
func (t *Table) rule() string {
	parts := []string{t.Name, string(t.NameCase), strconv.FormatBool(t.Ghosts)}
	for _, r := range append([]*regexp.Regexp{t.Source, t.Pattern}, t.Except...) {
		if r != nil {
			parts = append(parts, r.String())
		} else {
			parts = append(parts, "")
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// identity returns what of a source is in the primary key by a metadata column: rows of sources that differ in it never
// meet.
func (t *Table) identity(topic string, source debezium.Source) string {
	var parts []string
	for _, column := range t.PrimaryKey {
		switch t.Metadata[column] {
		case debezium.MetadataTopic:
			parts = append(parts, topic)
		case debezium.MetadataSourceName:
			parts = append(parts, source.Name)
		case debezium.MetadataSourceDB:
			parts = append(parts, source.DB)
		case debezium.MetadataSourceSchema:
			parts = append(parts, source.Schema)
		case debezium.MetadataSourceTable:
			parts = append(parts, source.Table)
		}
	}
	return strings.Join(parts, "/")
}

// disjoint reports whether rows of different topics cannot have the same primary key: the user says so, or there is none, or it
// holds where they come from, which claim looks after.
func (t *Table) disjoint() bool {
	return t.Disjoint || t.Append || slices.ContainsFunc(t.PrimaryKey, func(column string) bool {
		m := t.Metadata[column]
		return m == debezium.MetadataTopic || m >= debezium.MetadataSourceName && m <= debezium.MetadataSourceTable
	})
}

// learnedSource is where a table's snapshots say what it is made of.
const learnedSource = "source"

// claim makes sure that a table is made of one source, or of sources whose rows never meet. The first one is kept in the
// table's snapshots, so that another is found out after a restart, too.
func (w *worker) claim(topic string, source debezium.Source) error {
	if w.cfg.Disjoint || source.Table == "" {
		return nil
	}
	name, now := learnedSource, source.String()
	if id := w.cfg.identity(topic, source); id != "" {
		name, now = name+"/"+id, source.Name+": "+now
	}
	first, known := w.intake.trust[name]
	if known && first != now {
		return sharedSources(w.name, first, now)
	}
	if !known {
		w.intake.trust[name], w.intake.untold[name] = now, true
	}
	return nil
}

// checkSource makes sure that the record at hand is of the source that the table is made of. Tables of scouts have been
// checked when they were found.
func (w *worker) checkSource() error {
	if w.feeder != nil || w.cfg.Disjoint {
		return nil
	}
	source, err := w.intake.frame.Source()
	if err == nil {
		err = w.claim(w.intake.record.Topic, source)
		w.intake.source.set(source)
	}
	return err
}

// sourceMark recognises the records of a source at a glance, in JSON without schema, where all tables have one shape: by what
// says its database and table, nearly always as far from the end as in the record before.
type sourceMark [2]struct {
	text    []byte
	fromEnd int
}

func (m *sourceMark) set(s debezium.Source) {
	*m = sourceMark{}
	if s.Table != "" {
		m[0].text, m[1].text = fmt.Appendf(nil, `"db":%q`, s.DB), fmt.Appendf(nil, `"table":%q`, s.Table)
	}
}

// differs reports whether a record may be of another source.
func (m *sourceMark) differs(value []byte) bool {
	for i := range m {
		t := &m[i]
		if at := len(value) - t.fromEnd; at >= 0 && bytes.HasPrefix(value[at:], t.text) {
			continue
		}
		at := bytes.LastIndex(value, t.text)
		if at < 0 {
			return true
		}
		t.fromEnd = len(value) - at
	}
	return false
}

func sharedTable(name, topic, other string) error {
	return fmt.Errorf("table %s is fed by topic %s and by topic %s: changes of one row could come from both, in no order; "+
		"put a metadata column `topic` into primary-key, or set `disjoint: true` if their rows never meet", name, topic, other)
}

func sharedSources(name, first, second string) error {
	return fmt.Errorf("table %s is made of %s and now of %s: two tables of the source would become one; give each a table of its own (${db}, ${schema}, ${table} in `table:`), "+
		"put a metadata column such as `source.db` or `source.table` into primary-key, or set `disjoint: true` if their rows never meet", name, first, second)
}

func sharedMappings(name, first, second string) error {
	return fmt.Errorf("table %s is the target of two mappings, %s and %s: give all that becomes this table to one of them, or give them different names", name, first, second)
}

// errNoTable is a record whose event names no table.
var errNoTable = errors.New("the event does not say which table of the source it is of")
