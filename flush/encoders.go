package flush

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Memory of a file in the making, in bytes: what any takes for its pages and the compressor, and the most that waits encoded:
// a row group, and the parts that are on their way to the store.
const (
	encoderBytes     = 1 << 20
	mostEncodedBytes = 24 << 20
)

// Encoders bounds how many files are made at the same time, and the memory that they hold. All tables of a process share
// it. It is safe for concurrent use.
type Encoders struct {
	files, bytes *semaphore.Weighted
	most         int64
}

// NewEncoders allows so many files at the same time, as long as they need no more than so many bytes; both positive. A single
// file may need more.
func NewEncoders(files, bytes int64) *Encoders {
	return &Encoders{files: semaphore.NewWeighted(files), bytes: semaphore.NewWeighted(bytes), most: bytes}
}

// perCore allows a file a core, whatever it needs.
func perCore() *Encoders { return NewEncoders(int64(runtime.GOMAXPROCS(0)), math.MaxInt64) }

// Take waits until a file that needs so many bytes may be made, or ctx ends. release lets others go on.
func (e *Encoders) Take(ctx context.Context, need int64) (release func(), err error) {
	need = min(need, e.most)
	if err = e.files.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err = e.bytes.Acquire(ctx, need); err != nil {
		e.files.Release(1)
		return nil, err
	}
	return func() { e.bytes.Release(need); e.files.Release(1) }, nil
}

// density is how many bytes of a file a table's rows give for each byte of their cells, as its latest files tell.
type density struct{ bits atomic.Uint64 } // of a float64; 0: no file yet

// enough cells tell something: a file of few rows is mostly footer.
const enoughCells = 64 << 10

// learn takes what became of rows.
func (d *density) learn(cells, file int64) {
	if cells >= enoughCells {
		d.bits.Store(math.Float64bits(float64(file) / float64(cells)))
	}
}

// need is the memory, in bytes, that the file of rows will need. Before the first file they are taken for ones that do
// not compress.
func (d *density) need(cells int64) int64 {
	encoded := float64(cells)
	if bits := d.bits.Load(); bits != 0 {
		encoded *= math.Float64frombits(bits)
	}
	return encoderBytes + int64(min(2*encoded, mostEncodedBytes))
}
