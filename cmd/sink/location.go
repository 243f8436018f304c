package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sink/config"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// location says where tables lie: in the warehouse of a configuration file, or in one named by flags.
type location struct {
	configFile string
	warehouse  string
	endpoint   string
	region     string
	pathStyle  bool
}

// addTo adds the flags.
func (l *location) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&l.configFile, "config", "c", "", "configuration file that names the warehouse")
	f.StringVar(&l.warehouse, "warehouse", "", "warehouse, instead of a configuration file: file:///folder or s3://bucket/prefix")
	f.StringVar(&l.endpoint, "s3-endpoint", "", "S3 server, such as http://127.0.0.1:9000; credentials come from the environment or ~/.aws")
	f.StringVar(&l.region, "s3-region", "", "region of the bucket")
	f.BoolVar(&l.pathStyle, "s3-path-style", false, "put the bucket in the path of requests; on by itself for an endpoint that is not Amazon's")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// open opens the warehouse.
func (l *location) open(ctx context.Context) (object.Store, string, error) {
	if l.warehouse == "" && l.configFile == "" {
		return nil, "", misusef("where does the table lie? Give -c sink.yaml or --warehouse URI")
	}
	if l.warehouse != "" && l.configFile != "" {
		return nil, "", misusef("-c and --warehouse both say where the table lies: give one")
	}
	if l.configFile != "" {
		cfg, err := loadConfig(l.configFile)
		if err != nil {
			return nil, "", err
		}
		store, err := object.Open(ctx, cfg.Warehouse, s3Config(cfg.S3))
		return store, cfg.Warehouse, err
	}
	if scheme, _, ok := strings.Cut(l.warehouse, "://"); ok && !slices.Contains([]string{"file", "s3", "s3a"}, scheme) {
		return nil, "", misusef("--warehouse %s: scheme %s is not known: write file:///folder or s3://bucket/prefix", l.warehouse, scheme)
	}
	if host, _, _ := strings.Cut(strings.TrimPrefix(l.warehouse, "file://"), "/"); strings.HasPrefix(l.warehouse, "file://") && host != "" && host != "localhost" {
		return nil, "", misusef("--warehouse %s names a host, %q: an absolute folder has three slashes, file:///folder", l.warehouse, host)
	}
	store, err := object.Open(ctx, l.warehouse, object.S3Config{Endpoint: l.endpoint, Region: l.region, PathStyle: l.pathStyle})
	return store, l.warehouse, err
}

// openTable opens the warehouse and finds a table by its name, database.table.
func (l *location) openTable(ctx context.Context, name string) (object.Store, table.Path, error) {
	path, err := tablePath(name)
	if err != nil {
		return nil, "", misuse(err)
	}
	store, warehouse, err := l.open(ctx)
	if err != nil {
		return nil, "", err
	}
	_, err = manifest.LatestSchema(ctx, store, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("there is no table %s in %s%s", name, warehouse, tablesThere(ctx, store))
	}
	if err != nil {
		return nil, "", fmt.Errorf("table %s: %w", name, err)
	}
	return store, path, nil
}

// tablePath turns database.table into a path.
func tablePath(name string) (table.Path, error) {
	database, t, ok := strings.Cut(name, ".")
	if !ok || database == "" || t == "" || strings.ContainsAny(name, "/\\") {
		return "", fmt.Errorf("%q is no table: write database.table", name)
	}
	return table.NewPath(database, t), nil
}

// objectsLooked bounds the search for table names, which only serves a message.
const objectsLooked = 20_000

// tablesThere names the tables of a warehouse, for a message about one that is not there.
func tablesThere(ctx context.Context, store object.Store) string {
	var names []string
	looked := 0
	for info, err := range store.List(ctx, "") {
		if looked++; err != nil || looked > objectsLooked || len(names) >= 20 {
			break
		}
		folder, _, ok := strings.Cut(info.Name, "/schema/schema-")
		if !ok || strings.Count(folder, "/") != 1 {
			continue
		}
		if name := table.Path(folder).Name(); name != folder && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ": it has no tables"
	}
	return "; there are: " + strings.Join(names, ", ")
}

// loadConfig reads a configuration file. What is wrong with it is the user's to mend.
func loadConfig(name string) (*config.Config, error) {
	cfg, err := config.Load(name)
	return cfg, misuse(err)
}

func s3Config(s config.S3) object.S3Config {
	return object.S3Config{
		Endpoint: s.Endpoint, Region: s.Region, PathStyle: s.PathStyle,
		AccessKey: s.AccessKey.Reveal(), SecretKey: s.SecretKey.Reveal(), SessionToken: s.SessionToken.Reveal(),
		CAFile: string(s.CA), SkipVerify: s.InsecureSkipVerify,
	}
}
