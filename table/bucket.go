package table

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// hashSeed is org.apache.paimon.utils.MurmurHashUtils.DEFAULT_SEED.
const hashSeed = 42

// Hash is the hash of a row, by which the default bucket function and dynamic buckets go: Murmur3 x86 32 with seed 42
// over the row image, which is a serialised BinaryRow without its 4 bytes of arity. Its length is a multiple of 4.
func Hash(rowImage []byte) int32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h := uint32(hashSeed)
	n := len(rowImage)
	for len(rowImage) >= 4 {
		k := binary.LittleEndian.Uint32(rowImage) * c1
		rowImage = rowImage[4:]
		k = bits.RotateLeft32(k, 15) * c2
		h = bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
	}
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// BucketOf is the default bucket function: the bucket, of n, of a row with that hash. n is above 0.
func BucketOf(hash, n int32) int32 {
	b := hash % n
	if b < 0 {
		return -b
	}
	return b
}

// Bucket functions of option bucket-function.type.
const (
	bucketDefault = "default"
	bucketMod     = "mod"
	bucketHive    = "hive" // Paimon 1.4 and later
)

// bucketFunc computes the bucket, of n, of a row of a batch.
type bucketFunc func(b *Batch, row int, n int32) int32

// newBucketFunc returns the function of that name over the bucket key's columns, nil for the default one.
func newBucketFunc(name string, types []Type, cols []int) (bucketFunc, error) {
	switch strings.ToLower(name) {
	case "", bucketDefault:
		return nil, nil
	case bucketMod:
		if len(types) != 1 || types[0].Root != Int && types[0].Root != BigInt {
			return nil, fmt.Errorf("option bucket-function.type is mod, which takes one INT or BIGINT column as the bucket key")
		}
		return modBucket(cols[0]), nil
	case bucketHive:
		for _, t := range types {
			if !hiveHashable(t) {
				return nil, fmt.Errorf("option bucket-function.type is hive, which does not take a bucket key of %s", t)
			}
		}
		return hiveBucket(types, cols), nil
	}
	return nil, fmt.Errorf("option bucket-function.type is %q, but has to be default, mod or hive", name)
}

// modBucket is floorMod(value, n) (org.apache.paimon.bucket.ModBucketFunction).
func modBucket(col int) bucketFunc {
	return func(b *Batch, row int, n int32) int32 {
		m := b.Columns[col].Words[row] % int64(n)
		if m < 0 {
			m += int64(n)
		}
		return int32(m)
	}
}
