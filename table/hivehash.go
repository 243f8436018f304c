package table

import "math/big"

// hiveHashable reports whether Hive's hash is defined for a type of a bucket key.
func hiveHashable(t Type) bool {
	switch t.Root {
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Decimal, Char, VarChar, Binary, VarBinary, Date, Time:
		return true
	}
	return false
}

// hiveBucket is (31*h + hash of each column) & MaxInt % n (org.apache.paimon.bucket.HiveBucketFunction).
func hiveBucket(types []Type, cols []int) bucketFunc {
	return func(b *Batch, row int, n int32) int32 {
		var h int32
		for i, c := range cols {
			h *= 31
			if v := &b.Columns[c]; !v.IsNull(row) {
				h += hiveHash(&types[i], v, row)
			}
		}
		return (h & (1<<31 - 1)) % n
	}
}

func hiveHash(t *Type, v *Vector, row int) int32 {
	switch t.Root {
	case BigInt:
		return longHash(uint64(v.Words[row]))
	case Double:
		return longHash(oneNaN64(uint64(v.Words[row])))
	case Float:
		return int32(oneNaN32(uint32(v.Words[row])))
	case Decimal:
		return decimalHash(bigDecimal(t, v, row))
	case Char, VarChar, Binary, VarBinary:
		var h int32
		for _, c := range v.Bytes(row) {
			h = h*31 + int32(int8(c))
		}
		return h
	}
	return int32(v.Words[row])
}

// longHash is java.lang.Long.hashCode.
func longHash(w uint64) int32 { return int32(w ^ w>>32) }

// bigDecimal returns the unscaled value of a DECIMAL and its scale, without trailing zeros.
func bigDecimal(t *Type, v *Vector, row int) (*big.Int, int) {
	n, scale := new(big.Int), t.Scale
	if v.Layout == Words {
		n.SetInt64(v.Words[row])
	} else {
		b := v.Bytes(row)
		n.SetBytes(b)
		if b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
		}
	}
	if n.Sign() == 0 {
		return n, 0
	}
	ten, digit := big.NewInt(10), new(big.Int)
	for {
		quotient, _ := new(big.Int).QuoRem(n, ten, digit)
		if digit.Sign() != 0 {
			return n, scale
		}
		n, scale = quotient, scale-1
	}
}

// decimalHash is java.math.BigDecimal.hashCode: 31 * hash of the unscaled value + scale.
func decimalHash(n *big.Int, scale int) int32 {
	var h uint32
	b := n.Bytes()
	for len(b) > 0 {
		k := (len(b)-1)%4 + 1
		var word uint32
		for _, c := range b[:k] {
			word = word<<8 | uint32(c)
		}
		h = h*31 + word
		b = b[k:]
	}
	hash := int32(h) * int32(n.Sign())
	return 31*hash + int32(scale)
}
