package connector

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/debezium"
)

func anchored(text string) *regexp.Regexp { return regexp.MustCompile("^(?:" + text + ")$") }

func TestTarget(t *testing.T) {
	orders := debezium.Source{Connector: "postgresql", Name: "dock", DB: "shop", Schema: "public", Table: "Orders"}
	mysql := debezium.Source{Connector: "mysql", Name: "dock", DB: "shop", Table: "a.b/c$d %"}
	for _, c := range []struct {
		mapping Table
		topic   string
		source  debezium.Source
		want    string
	}{
		{Table{Name: "lake.orders"}, "t", orders, "lake.orders"},
		{Table{Name: "lake.${topic}"}, "dock.shop.public.Orders", orders, "lake.dock%2Eshop%2Epublic%2EOrders"},
		{Table{Name: "${db}.ods_${schema}_${table}_v1"}, "t", orders, "shop.ods_public_Orders_v1"},
		{Table{Name: "Lake.${table}", NameCase: LowerCase}, "t", orders, "lake.orders"},
		{Table{Name: "Lake.${table}", NameCase: UpperCase}, "t", mysql, "LAKE.A%2EB%2FC%24D %25"},
		{Table{Name: "lake.${table}"}, "t", mysql, "lake.a%2Eb%2Fc%24d %25"},
		{Table{Name: "lake.${1}_${2}", Pattern: anchored(`dock\.(\w+)\.(.*)`)}, "dock.shop.x.y", orders, "lake.shop_x%2Ey"},
		{Table{Name: "lake.${2}", Source: anchored(`(\w+)\.\w+\.(.*)`), Pattern: anchored(`(.)`)}, "t", orders, "lake.Orders"},
		{Table{Name: "lake.t${1}", Pattern: anchored(`dock(\.\w+)?`)}, "dock", orders, "lake.t"},
	} {
		got, err := c.mapping.Target(c.topic, c.source)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.True(t, c.mapping.Makes(got), "%s makes %s", c.mapping.Name, got)
		_, name, _ := strings.Cut(got, ".")
		back, err := url.PathUnescape(name)
		require.NoError(t, err, "reversible")
		require.Equal(t, name, SafeName(back))
	}
	for name, want := range map[string]string{
		"lake.${schema}": "${schema} of `table: lake.${schema}` is empty there",
		"lake.${1}":      `"lake." is no table name`,
		"${topic}":       "is no table name",
	} {
		_, err := (&Table{Name: name}).Target("t", mysql)
		require.ErrorContains(t, err, want)
	}
	require.NotEqual(t, SafeName("a.b"), SafeName("a%2Eb"))
	require.True(t, (&Table{Name: "lake.${table}"}).Makes("lake.x"))
	require.False(t, (&Table{Name: "lake.${table}"}).Makes("lake2.x"))
}

// Case U32: the tables of online schema changes are no tables of ours, unless they are asked for.
func TestGhostTables(t *testing.T) {
	pattern := Table{Name: "lake.${1}", Pattern: anchored(`dock\.orchard\.(.*)`)}
	bySource := Table{Name: "lake.${table}", Source: anchored(`orchard\..*`)}
	byName := Table{Name: "lake.x", Topics: []string{"dock.orchard._crate_new"}}
	for _, name := range []string{"_crate_new", "_crate_gho", "_crate_ghc", "_crate_del", "_crate_old", "__crate_new", "_vt_hld_6ace8bcef73211ea87e9f875a4d24e90_20200915120410_"} {
		require.False(t, pattern.Matches("dock.orchard."+name), name)
		require.Equal(t, ghost, bySource.Refuses(debezium.Source{DB: "orchard", Table: name}), name)
		all, own := pattern, bySource
		all.Ghosts, own.Ghosts = true, true
		require.True(t, all.Matches("dock.orchard."+name))
		require.Empty(t, own.Refuses(debezium.Source{DB: "orchard", Table: name}))
	}
	require.True(t, byName.Matches("dock.orchard._crate_new"), "a topic by name is meant")
	for _, name := range []string{"crate", "crate_new", "_crate", "new", "_new", "gold"} {
		require.True(t, pattern.Matches("dock.orchard."+name), name)
		require.Empty(t, bySource.Refuses(debezium.Source{DB: "orchard", Table: name}), name)
	}
	require.Equal(t, signal, bySource.Refuses(debezium.Source{DB: "orchard", Table: "debezium_signal"}))
	require.Equal(t, notWanted, bySource.Refuses(debezium.Source{DB: "orchard2", Table: "crate"}))
	bySource.Except = []*regexp.Regexp{anchored(`.*\.audit_.*`)}
	require.Equal(t, excluded, bySource.Refuses(debezium.Source{DB: "orchard", Table: "audit_log"}))
	require.Empty(t, bySource.Refuses(debezium.Source{DB: "orchard", Table: "Audit_log"}), "case counts")
}

func TestMatches(t *testing.T) {
	open := Table{Name: "lake.${table}", Source: anchored(".*")}
	require.True(t, open.BySource())
	require.True(t, open.Matches("anything"))
	require.False(t, open.Matches("__consumer_offsets"))
	require.False(t, open.Matches("_schemas"))
	require.False(t, (&Table{Name: "lake.x", Topics: []string{"a"}}).Matches("b"))
	require.False(t, (&Table{Name: "lake.${topic}", Topics: []string{"a"}}).BySource())
	require.True(t, (&Table{Name: "lake.${db}", Topics: []string{"a"}}).BySource())
	require.True(t, (&Table{Name: "lake.x", Topics: []string{"a"}, Except: []*regexp.Regexp{anchored("x")}}).BySource())
	rule := open.rule()
	open.Except = []*regexp.Regexp{anchored("x")}
	require.NotEqual(t, rule, open.rule())
}
