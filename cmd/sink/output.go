package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// outputFormat is the value of -o.
type outputFormat string

// The formats.
const (
	formatTable outputFormat = "table" // for people
	formatJSON  outputFormat = "json"  // one object a line
	formatCSV   outputFormat = "csv"   // RFC 4180, with a header
	// For commands that print rows of a table: one file of rows, and a stream of record batches.
	formatParquet outputFormat = "parquet"
	formatArrow   outputFormat = "arrow"
)

// rowsFormat is the value of -o of commands that print rows of a table.
type rowsFormat struct{ outputFormat }

// addTo adds the flag -o.
func (f *rowsFormat) addTo(cmd *cobra.Command) {
	f.outputFormat = formatTable
	cmd.Flags().VarP(f, "output", "o", "how to print: table, json (one object a line), csv, parquet (one file) or arrow (an IPC stream)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "csv", "parquet", "arrow"}, cobra.ShellCompDirectiveNoFileComp))
}

// Set makes it a flag, with String and Type of what it embeds.
func (f *rowsFormat) Set(s string) error {
	switch outputFormat(s) {
	case formatParquet, formatArrow:
		f.outputFormat = outputFormat(s)
		return nil
	}
	if f.outputFormat.Set(s) != nil {
		return fmt.Errorf("%q is none of table, json, csv, parquet, arrow", s)
	}
	return nil
}

// addTo adds the flag -o.
func (f *outputFormat) addTo(cmd *cobra.Command) {
	*f = formatTable
	cmd.Flags().VarP(f, "output", "o", "how to print: table, json (one object a line) or csv")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "csv"}, cobra.ShellCompDirectiveNoFileComp))
}

// Set, String and Type make it a flag.
func (f *outputFormat) Set(s string) error {
	switch outputFormat(s) {
	case formatTable, formatJSON, formatCSV:
		*f = outputFormat(s)
		return nil
	}
	return fmt.Errorf("%q is none of table, json, csv", s)
}

func (f *outputFormat) String() string { return string(*f) }

// Type names the kind of value in help texts.
func (f *outputFormat) Type() string { return "format" }

// rowsAligned is how many rows a table is aligned over. More are printed in several goes, so that a long result starts
// to appear at once and memory stays small.
const rowsAligned = 1000

// printer prints rows of named columns in one of the formats.
type printer struct {
	out     *bufio.Writer
	format  outputFormat
	columns []string
	widths  []int
	waiting [][]string // rows of a table that are not aligned yet
	header  bool       // printed
	csv     *csv.Writer
	line    []byte
	err     error
}

func newPrinter(w io.Writer, format outputFormat, columns ...string) *printer {
	p := &printer{out: bufio.NewWriterSize(w, 1<<16), format: format, columns: columns}
	p.widths = make([]int, len(columns))
	for i, c := range columns {
		p.widths[i] = utf8.RuneCountInString(c)
	}
	if format == formatCSV {
		p.csv = csv.NewWriter(p.out)
		p.keep(p.csv.Write(columns))
	}
	return p
}

func (p *printer) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// row prints one row of values, which are shown as JSON shows them, texts without quotes except in JSON itself.
func (p *printer) row(values ...any) {
	if p.format == formatJSON {
		p.line = append(p.line[:0], '{')
		for i, v := range values {
			if i > 0 {
				p.line = append(p.line, ',')
			}
			p.line = append(p.line, jsonText(p.columns[i])...)
			p.line = append(p.line, ':')
			p.line = append(p.line, jsonText(v)...)
		}
		p.jsonLine(append(p.line, '}'))
		return
	}
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = plainText(v, p.format)
	}
	p.cells(cells)
}

// jsonLine prints a whole object.
func (p *printer) jsonLine(object []byte) {
	_, err := p.out.Write(object)
	p.keep(err)
	p.keep(p.out.WriteByte('\n'))
}

// cells prints one row of a table or of CSV.
func (p *printer) cells(cells []string) {
	if p.format == formatCSV {
		p.keep(p.csv.Write(cells))
		return
	}
	for i, c := range cells {
		p.widths[i] = max(p.widths[i], utf8.RuneCountInString(c))
	}
	if p.waiting = append(p.waiting, cells); len(p.waiting) >= rowsAligned {
		p.align()
	}
}

// align prints the waiting rows of a table.
func (p *printer) align() {
	if p.format != formatTable {
		return
	}
	if !p.header {
		p.header = true
		p.aligned(p.columns)
	}
	for _, cells := range p.waiting {
		p.aligned(cells)
	}
	p.waiting = p.waiting[:0]
}

func (p *printer) aligned(cells []string) {
	var b strings.Builder
	for i, c := range cells {
		b.WriteString(c)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", p.widths[i]-utf8.RuneCountInString(c)+2))
		}
	}
	b.WriteByte('\n')
	_, err := p.out.WriteString(b.String())
	p.keep(err)
}

// flush prints what is there so far, for results that go on.
func (p *printer) flush() error {
	p.align()
	if p.csv != nil {
		p.csv.Flush()
		p.keep(p.csv.Error())
	}
	p.keep(p.out.Flush())
	return p.err
}

// close prints the rest. It returns the first error of all.
func (p *printer) close() error { return p.flush() }

// jsonText is a value in JSON, without escapes that HTML would want.
func jsonText(v any) []byte {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return jsonText(err.Error())
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// plainText is a value in a table or in CSV. A null is NULL in a table and nothing in CSV.
func plainText(v any, format outputFormat) string {
	switch t := v.(type) {
	case nil:
		return nullText(format)
	case string:
		return cellText(t, format)
	case []string:
		return cellText(strings.Join(t, ","), format)
	case json.RawMessage:
		return canonicalCell(t, format)
	}
	return canonicalCell(jsonText(v), format)
}

// canonicalCell is a cell in canonical JSON as a table or CSV shows it.
func canonicalCell(b []byte, format outputFormat) string {
	if string(b) == "null" {
		return nullText(format)
	}
	if len(b) > 0 && b[0] == '"' {
		var s string
		if json.Unmarshal(b, &s) == nil {
			return cellText(s, format)
		}
	}
	return string(b)
}

// widestCell is how many characters of a table's cell are shown to people; JSON and CSV have all.
const widestCell = 100

// shorten cuts a cell that would tear a table apart.
func shorten(s string, format outputFormat) string {
	if format == formatCSV || utf8.RuneCountInString(s) <= widestCell {
		return s
	}
	return string([]rune(s)[:widestCell-1]) + "…"
}

func nullText(format outputFormat) string {
	if format == formatCSV {
		return ""
	}
	return "NULL"
}

// cellText keeps a text from breaking the lines of a table.
func cellText(s string, format outputFormat) string {
	if format == formatCSV {
		return s
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		s = strings.TrimPrefix(strings.TrimSuffix(string(jsonText(s)), `"`), `"`)
	}
	return s
}
