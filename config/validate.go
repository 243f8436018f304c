package config

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// validator checks what the types of the keys do not say.
type validator struct {
	*Config
	problems []*Problem
}

// problem notes a problem, unless the key, its file or env form, or a key above it has one already: a value that was not
// read is not judged.
func (v *validator) problem(key, format string, args ...any) {
	if v.hasProblem(key, key+"-file", key+"-env") {
		return
	}
	for above := key; above != ""; {
		above = above[:max(strings.LastIndexAny(above, ".["), 0)]
		if v.hasProblem(above) {
			return
		}
	}
	at := place(v.at, key)
	v.problems = append(v.problems, &Problem{File: v.file, Line: at.line, Column: at.column, Key: key, Text: fmt.Sprintf(format, args...)})
}

func (v *validator) validate() {
	v.kafka()
	v.registry()
	v.warehouse()
	v.limits()
	v.deadLetter("dead-letter", v.DeadLetter)
	if v.HTTP != "" {
		v.address("http", v.HTTP)
	}
	if len(v.Tables) == 0 {
		v.problem("tables", "is empty: name at least one table")
	}
	targets := map[string]int{}
	for i := range v.Tables {
		v.table(fmt.Sprintf("tables[%d]", i), &v.Tables[i])
		v.target(i, targets)
	}
}

func (v *validator) kafka() {
	k := &v.Kafka
	if len(k.Brokers) == 0 {
		v.problem("kafka.brokers", "is empty: name at least one broker as host:port")
	}
	for i, b := range k.Brokers {
		v.address(fmt.Sprintf("kafka.brokers[%d]", i), b)
	}
	if k.Group == "" {
		v.problem("kafka.group", "is empty: name the consumer group")
	}
	if k.Fetch.PartitionBytes > k.Fetch.Bytes {
		v.problem("kafka.fetch.partition-bytes", "%v is more than kafka.fetch.bytes, %v", k.Fetch.PartitionBytes, k.Fetch.Bytes)
	}
	if k.Fetch.Bytes > v.Memory && !v.hasProblem("memory") {
		v.problem("kafka.fetch.bytes", "%v is more than memory, %v", k.Fetch.Bytes, v.Memory)
	}
	v.tls("kafka.tls", k.TLS)
	switch s := k.SASL; {
	case s.Mechanism == "" && (s.Username != "" || s.Password.IsSet()):
		v.problem("kafka.sasl.mechanism", "is missing: one of plain, scram-sha-256, scram-sha-512")
	case s.Mechanism != "" && s.Username == "":
		v.problem("kafka.sasl.username", "is missing")
	case s.Mechanism != "" && !s.Password.IsSet():
		v.problem("kafka.sasl.password", "is missing: give password-file, password-env or password")
	}
}

func (v *validator) tls(key string, t TLS) {
	if (t.Cert == "") != (t.Key == "") {
		v.problem(key, "cert and key belong together: give both or none")
	}
	if t.Enabled != nil && !*t.Enabled && (t.CA != "" || t.Cert != "" || t.ServerName != "" || t.InsecureSkipVerify) {
		v.problem(key+".enabled", "is false, but other keys of %s are set: remove them or this", key)
	}
}

func (v *validator) registry() {
	r := &v.Registry
	if r.URL != "" {
		v.webAddress("registry.url", r.URL)
	} else if v.at["registry"] != (position{}) {
		v.problem("registry.url", "is missing: the address of the registry, such as http://127.0.0.1:8081")
	} else {
		v.unregistered()
	}
	if r.Password.IsSet() && r.Username == "" {
		v.problem("registry.username", "is missing, but there is a password")
	}
	v.tls("registry.tls", r.TLS)
}

// unregistered refuses Avro where nothing says who has its schemas: no record could be read, and a policy that passes over bad
// records would pass over all.
func (v *validator) unregistered() {
	for i := range v.Tables {
		if v.Tables[i].Format != "debezium-avro" {
			continue
		}
		key := fmt.Sprintf("tables[%d].format", i)
		if v.at[key] == (position{}) {
			key = "format"
		}
		v.problem(key, "is debezium-avro, whose schemas are in a registry: say where, as registry: {url: http://127.0.0.1:8081}")
	}
}

func (v *validator) warehouse() {
	if v.Warehouse != "" {
		v.warehouseURI(v.Warehouse)
	} else {
		v.problem("warehouse", "is empty: write file:///absolute/folder or s3://bucket/prefix")
	}
	if v.S3.Endpoint != "" {
		v.webAddress("s3.endpoint", v.S3.Endpoint)
	}
	if v.S3.AccessKey.IsSet() && !v.S3.SecretKey.IsSet() {
		v.problem("s3.secret-key", "is missing beside access-key: give both, or none to use the usual AWS chain")
	}
	if v.S3.SecretKey.IsSet() && !v.S3.AccessKey.IsSet() {
		v.problem("s3.access-key", "is missing beside secret-key: give both, or none to use the usual AWS chain")
	}
	if v.S3.SessionToken.IsSet() && !v.S3.AccessKey.IsSet() {
		v.problem("s3.session-token", "is of no use without access-key and secret-key")
	}
}

func (v *validator) warehouseURI(text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "":
		v.problem("warehouse", "%q is not a URI: write file:///absolute/folder or s3://bucket/prefix", text)
	case u.Scheme == "file" && u.Host != "":
		v.problem("warehouse", "%q names a host, %q: an absolute folder has three slashes, file:///folder", text, u.Host)
	case u.Scheme == "file" && (u.Path == "" || u.Path == "/"):
		v.problem("warehouse", "%q names no folder: write file:///absolute/folder", text)
	case u.Scheme == "s3" && u.Host == "":
		v.problem("warehouse", "%q names no bucket: write s3://bucket/prefix", text)
	case u.Scheme == "s3a" || u.Scheme == "s3n" || u.Scheme == "oss":
		v.problem("warehouse", "scheme %s is not known: write s3://bucket/prefix", u.Scheme)
	case u.Scheme != "file" && u.Scheme != "s3":
		v.problem("warehouse", "scheme %s is not known: write file:///absolute/folder or s3://bucket/prefix", u.Scheme)
	}
}

func (v *validator) limits() {
	if v.TableRetry.Max < v.TableRetry.Initial {
		v.problem("table-retry.max", "%v is less than table-retry.initial, %v", v.TableRetry.Max, v.TableRetry.Initial)
	}
	if v.Checkpoint.Bytes > v.Memory && !v.hasProblem("memory") {
		v.problem("checkpoint.bytes", "%v is more than memory, %v: the buffers would be flushed before the checkpoint", v.Checkpoint.Bytes, v.Memory)
	}
}

func (v *validator) deadLetter(key string, d DeadLetter) {
	given := v.at[key+".topic"] != (position{})
	switch {
	case d.Path != "" && given:
		v.problem(key, "has both topic and path: keep one")
	case d.Path != "" && (strings.HasPrefix(d.Path, "/") || path.Clean(d.Path) != d.Path || strings.HasPrefix(d.Path, "..")):
		v.problem(key+".path", "%q is not a folder in the warehouse: write a plain relative path such as _dead", d.Path)
	case d.Path == "" && d.Topic == "":
		v.problem(key, "names neither topic nor path")
	}
}

func (v *validator) address(key, text string) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		v.problem(key, "%q is not host:port", text)
		return
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || (n == 0 && key != "http") {
		v.problem(key, "%q has no port between 1 and 65535", text)
	} else if host == "" && key != "http" {
		v.problem(key, "%q has no host before the port", text)
	}
}

func (v *validator) webAddress(key, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		v.problem(key, "is not an address: write http://host:port or https://host:port")
	case u.User != nil:
		v.problem(key, "holds a user name: put it under username and password, where it is not printed")
	}
}

var (
	reference = regexp.MustCompile(`\$\{([^}]*)\}`)
	plainName = regexp.MustCompile(`^[^/\\\s:.*?"<>|$]+$`)
)

func (v *validator) table(key string, t *Table) {
	var given []string
	var groups int
	if len(t.Topic) > 0 || v.at[key+".topic"] != (position{}) {
		given = append(given, "topic")
	}
	if t.Topics != nil {
		given = append(given, "topics")
		groups = groupsOf(t.Topics)
	}
	if t.Source != nil {
		given = append(given, "source")
		groups = groupsOf(t.Source)
	}
	switch {
	case t.Topics != nil && slices.Contains(given, "topic"):
		v.problem(key, "has topic and topics: keep one")
	case len(given) == 0 && !v.hasProblem(key+".topic", key+".topics", key+".source"):
		v.problem(key, "says not which records it takes: give topic, topics or source")
	}
	if slices.Contains(given, "topic") && len(t.Topic) == 0 {
		v.problem(key+".topic", "is empty: name at least one topic")
	}
	for i, topic := range t.Topic {
		if topic == "" {
			v.problem(fmt.Sprintf("%s.topic[%d]", key, i), "is empty: name a topic")
		} else if slices.Index(t.Topic, topic) < i {
			v.problem(fmt.Sprintf("%s.topic[%d]", key, i), "%s is named twice", topic)
		}
	}
	v.template(key+".table", t.Table, groups)
	v.names(key+".primary-key", t.PrimaryKey)
	v.names(key+".partition-by", t.PartitionBy)
	v.columns(key, t)
	if t.Append && len(t.PrimaryKey) > 0 {
		v.problem(key+".append", "is true, but primary-key is given, too: keep one")
	}
	if t.OnKeylessChange == "append" && !slices.ContainsFunc(t.Metadata, func(m Named) bool { return m.Text == "kind" }) {
		v.problem(key+".on-keyless-change", "is append, but no column tells the kind of a change: add one, such as `metadata: {change: kind}`")
	}
	if t.DeadLetter != v.DeadLetter {
		v.deadLetter(key+".dead-letter", t.DeadLetter)
	}
}

// columns checks what makes the columns of a table.
func (v *validator) columns(key string, t *Table) {
	named := func(list []Named, name string) bool {
		return slices.ContainsFunc(list, func(n Named) bool { return n.Name == name })
	}
	for _, c := range t.Computed {
		if named(t.Metadata, c.Name) {
			v.problem(key+".computed."+c.Name, "is a metadata column, too: keep one")
		}
	}
	v.names(key+".include-columns", t.IncludeColumns)
	v.names(key+".exclude-columns", t.ExcludeColumns)
	if len(t.IncludeColumns) > 0 && len(t.ExcludeColumns) > 0 {
		v.problem(key+".exclude-columns", "stands beside include-columns: keep one")
	}
	for i, r := range t.Rename {
		at := key + ".rename." + r.Name
		first := slices.IndexFunc(t.Rename, func(o Named) bool { return o.Text == r.Text })
		switch {
		case r.Text == "":
			v.problem(at, "has no new name")
		case first < i:
			v.problem(at, "becomes column %s, and so does %s: give one another name", r.Text, t.Rename[first].Name)
		case named(t.Metadata, r.Text) || named(t.Computed, r.Text):
			v.problem(at, "becomes column %s, which is a metadata or computed column: give one another name", r.Text)
		case named(t.Metadata, r.Name) || named(t.Computed, r.Name):
			v.problem(at, "is the name of a metadata or computed column, too: give that another name")
		case slices.Contains(t.ExcludeColumns, r.Name) || len(t.IncludeColumns) > 0 && !slices.Contains(t.IncludeColumns, r.Name):
			v.problem(at, "is left out by include-columns or exclude-columns: take it or remove this")
		}
	}
	if !v.CaseSensitive {
		v.lowerCase(key, t)
	}
	if !v.CaseSensitive && t.NameCase == "upper" {
		v.problem(key+".name-case", "is upper, and case-sensitive is false: names of tables are lower case then")
	}
}

// lowerCase checks the names of columns for a catalog that does not tell cases apart.
func (v *validator) lowerCase(key string, t *Table) {
	check := func(at, name string) {
		if lower := strings.ToLower(name); lower != name {
			v.problem(at, "%s has upper case, and case-sensitive is false: the table's column is %s", name, lower)
		}
	}
	for i, name := range t.PrimaryKey {
		check(fmt.Sprintf("%s.primary-key[%d]", key, i), name)
	}
	for i, name := range t.PartitionBy {
		check(fmt.Sprintf("%s.partition-by[%d]", key, i), name)
	}
	for _, r := range t.Rename {
		check(key+".rename."+r.Name, r.Text)
	}
	for what, list := range map[string][]Named{"columns": t.Columns, "metadata": t.Metadata, "computed": t.Computed} {
		for i, c := range list {
			for _, o := range list[:i] {
				if o.Name != c.Name && strings.EqualFold(o.Name, c.Name) {
					v.problem(key+"."+what+"."+c.Name, "and %s differ in case only, and case-sensitive is false: rename one", o.Name)
				}
			}
			check(key+"."+what+"."+c.Name, c.Name)
		}
	}
}

func (v *validator) hasProblem(keys ...string) bool {
	return slices.ContainsFunc(v.problems, func(p *Problem) bool { return slices.Contains(keys, p.Key) })
}

// groupsOf counts the groups of an expression.
func groupsOf(r *Regexp) int {
	if r.re == nil {
		return 0
	}
	return r.re.NumSubexp()
}

// template checks the name of a table, in which ${...} may stand for parts.
func (v *validator) template(key, text string, groups int) {
	if text == "" {
		v.problem(key, "is empty: write database.table")
		return
	}
	bad := ""
	plain := reference.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		n, err := strconv.Atoi(name)
		switch {
		case slices.Contains([]string{"topic", "db", "schema", "table"}, name):
		case err != nil || n < 0:
			bad = fmt.Sprintf("%s is none of ${topic}, ${db}, ${schema}, ${table} and groups like ${1}", ref)
		case n > groups:
			bad = fmt.Sprintf("%s names a group that the expression does not have: it has %d", ref, groups)
		}
		return "x"
	})
	if bad != "" {
		v.problem(key, "%s", bad)
		return
	}
	database, table, ok := strings.Cut(plain, ".")
	if !ok || !plainName.MatchString(database) || !plainName.MatchString(table) {
		v.problem(key, "%q is not database.table", text)
	}
}

// names checks a list of column names.
func (v *validator) names(key string, columns []string) {
	for i, c := range columns {
		if c == "" {
			v.problem(fmt.Sprintf("%s[%d]", key, i), "is empty: name a column")
		} else if slices.Index(columns, c) < i {
			v.problem(fmt.Sprintf("%s[%d]", key, i), "column %s is named twice", c)
		}
	}
}

// target notes the table of mapping i. Two mappings to one table would be two owners of it.
func (v *validator) target(i int, targets map[string]int) {
	name := v.Tables[i].Table
	if name == "" || strings.Contains(name, "${") {
		return
	}
	if first, taken := targets[name]; taken {
		v.problem(fmt.Sprintf("tables[%d].table", i), "%s is the table of tables[%d], too: give all its topics to one mapping, as a list", name, first)
		return
	}
	targets[name] = i
}
