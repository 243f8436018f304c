package datafile

import (
	"context"
	"fmt"

	"sink/table"
)

// Copy makes a changelog file out of a data file in the format's store: the same rows and bytes in an object of its own,
// under a new name of the format's kind. Both kinds have to be written alike; see [Config.Alike]. The changelog of a
// batch of rows is the same as its data when no key is there twice.
func (f *Format) Copy(ctx context.Context, file table.File, namer *table.Namer) (table.File, error) {
	from, err := f.objectName(file.Bucket, file.Name)
	if err != nil {
		return table.File{}, err
	}
	file.Name = f.name(namer)
	file.CreatedMillis = f.cfg.Now().UnixMilli()
	to, err := f.objectName(file.Bucket, file.Name)
	if err != nil {
		return table.File{}, err
	}
	if err := f.cfg.Store.Copy(ctx, from, to); err != nil {
		return table.File{}, fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	return file, nil
}
