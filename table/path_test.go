package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPath(t *testing.T) {
	p := NewPath("shop", "orders")
	require.Equal(t, "shop.orders", p.Name())
	require.Equal(t, "elsewhere", Path("elsewhere").Name())
	require.Equal(t, []string{
		"shop.db/orders/schema/", "shop.db/orders/schema/schema-3",
		"shop.db/orders/snapshot/", "shop.db/orders/snapshot/snapshot-12", "shop.db/orders/snapshot/LATEST", "shop.db/orders/snapshot/EARLIEST",
		"shop.db/orders/manifest/", "shop.db/orders/manifest/manifest-u-0", "shop.db/orders/index/index-u-0", "shop.db/orders/statistics/stat-u-0",
		"shop.db/orders/tag/", "shop.db/orders/tag/tag-v1", "shop.db/orders/branch/", "shop.db/orders/consumer/", "shop.db/orders/consumer/consumer-c",
		"shop.db/orders/changelog/", "shop.db/orders/changelog/changelog-5", "shop.db/orders/changelog/LATEST", "shop.db/orders/changelog/EARLIEST",
		"shop.db/orders/bucket-0", "shop.db/orders/dt=1/bucket-7", "shop.db/orders/bucket-postpone", "shop.db/orders/dt=1/bucket-7/data-u-0.parquet",
	}, []string{
		p.SchemaDir(), p.Schema(3),
		p.SnapshotDir(), p.Snapshot(12), p.Latest(), p.Earliest(),
		p.ManifestDir(), p.Manifest("manifest-u-0"), p.Index("index-u-0"), p.Statistics("stat-u-0"),
		p.TagDir(), p.Tag("v1"), p.BranchDir(), p.ConsumerDir(), p.Consumer("c"),
		p.ChangelogDir(), p.Changelog(5), p.ChangelogLatest(), p.ChangelogEarliest(),
		p.BucketDir("", 0), p.BucketDir("dt=1/", 7), p.BucketDir("", -2), p.DataFile("dt=1/", 7, "data-u-0.parquet"),
	})
}

func TestNamer(t *testing.T) {
	n := NewNamer(&Schema{}, "u")
	require.Equal(t, "data-u-0.parquet", n.DataFileName())
	require.Equal(t, "changelog-u-1.parquet", n.ChangelogFileName())
	require.Equal(t, "data-u-2.parquet", n.DataFileName())

	n = NewNamer(&Schema{Options: map[string]string{"data-file.prefix": "d_", "changelog-file.prefix": "c_",
		"file.suffix.include.compression": "true", "changelog-file.compression": "lz4"}}, "u")
	require.Equal(t, "d_u-0.zstd.parquet", n.DataFileName())
	require.Equal(t, "c_u-1.lz4.parquet", n.ChangelogFileName())

	m := NewManifestNamer("u")
	require.Equal(t, []string{"manifest-u-0", "manifest-u-1", "manifest-list-u-0", "index-manifest-u-0"},
		[]string{m.Manifest(), m.Manifest(), m.List(), m.IndexManifest()})
}
