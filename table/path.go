package table

import (
	"strconv"
	"strings"
)

// Path is the root of a table, relative to the warehouse: "shop.db/orders". Its methods name every file and folder of a
// table (org.apache.paimon.utils.FileStorePathFactory); see the package's layout in the Paimon specification.
type Path string

// NewPath returns the root of a table of a filesystem catalog.
func NewPath(database, name string) Path { return Path(database + ".db/" + name) }

// Name returns the table's name as users type it: "shop.orders". A path that is none of a catalog's comes back as it is.
func (p Path) Name() string {
	if database, name, ok := strings.Cut(string(p), ".db/"); ok {
		return database + "." + name
	}
	return string(p)
}

func (p Path) join(elements ...string) string { return string(p) + "/" + strings.Join(elements, "/") }

func number(prefix string, n int64) string { return prefix + strconv.FormatInt(n, 10) }

// SchemaDir returns the folder of the schema files, with a slash at its end.
func (p Path) SchemaDir() string { return p.join("schema/") }

// Schema returns the file of the schema of that id.
func (p Path) Schema(id int64) string { return p.join("schema", number("schema-", id)) }

// SnapshotDir returns the folder of the snapshots, with a slash at its end.
func (p Path) SnapshotDir() string { return p.join("snapshot/") }

// Snapshot returns the file of the snapshot of that id.
func (p Path) Snapshot(id int64) string { return p.join("snapshot", number("snapshot-", id)) }

// Latest returns the hint file of the newest snapshot.
func (p Path) Latest() string { return p.join("snapshot/LATEST") }

// Earliest returns the hint file of the oldest snapshot.
func (p Path) Earliest() string { return p.join("snapshot/EARLIEST") }

// ManifestDir returns the folder of manifests, manifest lists and index manifests, with a slash at its end.
func (p Path) ManifestDir() string { return p.join("manifest/") }

// Manifest returns a file in the manifest folder by its bare name.
func (p Path) Manifest(name string) string { return p.join("manifest", name) }

// Index returns an index file by its bare name.
func (p Path) Index(name string) string { return p.join("index", name) }

// Statistics returns a statistics file by its bare name.
func (p Path) Statistics(name string) string { return p.join("statistics", name) }

// TagDir returns the folder of the tags, with a slash at its end.
func (p Path) TagDir() string { return p.join("tag/") }

// Tag returns the file of a tag.
func (p Path) Tag(name string) string { return p.join("tag", "tag-"+name) }

// BranchDir returns the folder of the branches, with a slash at its end.
func (p Path) BranchDir() string { return p.join("branch/") }

// ConsumerDir returns the folder of the consumers, with a slash at its end.
func (p Path) ConsumerDir() string { return p.join("consumer/") }

// Consumer returns the file of a consumer.
func (p Path) Consumer(id string) string { return p.join("consumer", "consumer-"+id) }

// ChangelogDir returns the folder of the long-lived changelogs, with a slash at its end.
func (p Path) ChangelogDir() string { return p.join("changelog/") }

// Changelog returns the file of the long-lived changelog of that snapshot id.
func (p Path) Changelog(id int64) string { return p.join("changelog", number("changelog-", id)) }

// ChangelogLatest returns the hint file of the newest long-lived changelog.
func (p Path) ChangelogLatest() string { return p.join("changelog/LATEST") }

// ChangelogEarliest returns the hint file of the oldest long-lived changelog.
func (p Path) ChangelogEarliest() string { return p.join("changelog/EARLIEST") }

// BucketDir returns the folder of a bucket, without a slash at its end. The partition path is that of [PartitionPath].
func (p Path) BucketDir(partitionPath string, bucket int32) string {
	name := "bucket-postpone"
	if bucket >= 0 {
		name = number("bucket-", int64(bucket))
	}
	return string(p) + "/" + partitionPath + name
}

// DataFile returns a data or changelog file by its bare name.
func (p Path) DataFile(partitionPath string, bucket int32, name string) string {
	return p.BucketDir(partitionPath, bucket) + "/" + name
}

// Namer gives new names to the files of one bucket writer: data and changelog files share a random id and a counter,
// so no name is given twice. It has one owner.
type Namer struct {
	id         string
	dataPrefix string
	logPrefix  string
	dataSuffix string
	logSuffix  string
	next       int64
}

// NewNamer returns a Namer; id is a UUID of the caller's, different for each Namer. The prefixes and whether names end
// ".zstd.parquet" or ".parquet" come from the schema's options.
func NewNamer(s *Schema, id string) *Namer {
	n := &Namer{
		id: id, dataPrefix: s.Option("data-file.prefix"), logPrefix: s.Option("changelog-file.prefix"),
		dataSuffix: ".parquet", logSuffix: ".parquet",
	}
	if with, err := s.OptionBool("file.suffix.include.compression"); err == nil && with {
		n.dataSuffix = "." + s.Option("file.compression") + ".parquet"
		n.logSuffix = "." + s.Option("changelog-file.compression") + ".parquet"
	}
	return n
}

// DataFileName returns a new bare name such as "data-<uuid>-0.parquet".
func (n *Namer) DataFileName() string { return n.name(n.dataPrefix, n.dataSuffix) }

// ChangelogFileName returns a new bare name such as "changelog-<uuid>-1.parquet".
func (n *Namer) ChangelogFileName() string { return n.name(n.logPrefix, n.logSuffix) }

func (n *Namer) name(prefix, suffix string) string {
	name := number(prefix+n.id+"-", n.next) + suffix
	n.next++
	return name
}

// ManifestNamer gives new names to the metadata files of one commit. It has one owner.
type ManifestNamer struct {
	id                    string
	manifest, list, index int64
}

// NewManifestNamer returns a ManifestNamer; id is a UUID of the caller's, different for each.
func NewManifestNamer(id string) *ManifestNamer { return &ManifestNamer{id: id} }

// Manifest returns a new bare name such as "manifest-<uuid>-0".
func (n *ManifestNamer) Manifest() string { return take("manifest-", n.id, &n.manifest) }

// List returns a new bare name such as "manifest-list-<uuid>-0".
func (n *ManifestNamer) List() string { return take("manifest-list-", n.id, &n.list) }

// IndexManifest returns a new bare name such as "index-manifest-<uuid>-0".
func (n *ManifestNamer) IndexManifest() string { return take("index-manifest-", n.id, &n.index) }

func take(prefix, id string, next *int64) string {
	name := number(prefix+id+"-", *next)
	*next++
	return name
}
