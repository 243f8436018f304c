package table

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppendDecimalText(t *testing.T) {
	for _, c := range []struct {
		typ, in, out string
		err          error
	}{
		{"DECIMAL(5, 2)", "123.45", "123.45", nil},
		{"DECIMAL(5, 2)", "-0.5", "-0.50", nil},
		{"DECIMAL(5, 2)", "+7", "7.00", nil},
		{"DECIMAL(5, 2)", ".5", "0.50", nil},
		{"DECIMAL(5, 2)", "5.", "5.00", nil},
		{"DECIMAL(5, 2)", "-0", "0.00", nil},
		{"DECIMAL(5, 2)", "0e99999999999999999999", "0.00", nil},
		{"DECIMAL(5, 2)", "00000000000000000000000000000000000000000000123.4500000000000000000000000000000000000000", "123.45", nil},
		{"DECIMAL(5, 2)", "1.2345e2", "123.45", nil},
		{"DECIMAL(5, 2)", "12345E-2", "123.45", nil},
		{"DECIMAL(5, 2)", "1e+2", "100.00", nil},
		{"DECIMAL(5, 2)", "1000", "", ErrDecimalOverflow},
		{"DECIMAL(5, 2)", "1e3", "", ErrDecimalOverflow},
		{"DECIMAL(5, 2)", "1e99999999999999999999", "", ErrDecimalOverflow},
		{"DECIMAL(5, 2)", "0.001", "", ErrDecimalInexact},
		{"DECIMAL(5, 2)", "1e-99999999999999999999", "", ErrDecimalInexact},
		{"DECIMAL(5, 2)", "1.23456789012345678901234567890123456789012345678901234567890", "", ErrDecimalInexact},
		{"DECIMAL(5, 0)", "1.5", "", ErrDecimalInexact},
		{"DECIMAL(18, 0)", "999999999999999999", "999999999999999999", nil},
		{"DECIMAL(18, 0)", "1000000000000000000", "", ErrDecimalOverflow},
		{"DECIMAL(38, 0)", "-99999999999999999999999999999999999999", "-99999999999999999999999999999999999999", nil},
		{"DECIMAL(38, 0)", "100000000000000000000000000000000000000", "", ErrDecimalOverflow},
		{"DECIMAL(38, 38)", "0.99999999999999999999999999999999999999", "0.99999999999999999999999999999999999999", nil},
		{"DECIMAL(38, 10)", "1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456789", nil},
		{"DECIMAL(20, 0)", "1000000000000000000", "1000000000000000000", nil},
	} {
		typ := mustType(t, c.typ)
		v := &Vector{Layout: typ.Layout()}
		err := AppendDecimalText(v, &typ, []byte(c.in))
		require.Equal(t, c.err, err, c.in)
		if err != nil {
			require.Zero(t, v.Len())
			continue
		}
		require.Equal(t, c.out, string(AppendDecimal(nil, &typ, v, 0)), c.in)
	}
	typ := mustType(t, "DECIMAL(5, 2)")
	for _, text := range []string{"", "-", ".", "e5", "1e", "1e+", "1x", "1e5x", "1.2.3", " 1", "1 ", "NaN", "Infinity", "--1", "0x1", "1_000"} {
		require.Equal(t, ErrDecimalSyntax, AppendDecimalText(&Vector{Layout: Words}, &typ, []byte(text)), text)
	}
}

func TestAppendDecimalBytes(t *testing.T) {
	for _, c := range []struct {
		typ      string
		unscaled []byte
		scale    int
		out      string
		err      error
	}{
		{"DECIMAL(5, 2)", []byte{0x04, 0xd2}, 2, "12.34", nil},
		{"DECIMAL(5, 2)", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x04, 0xd2}, 2, "12.34", nil},
		{"DECIMAL(5, 2)", []byte{0xff, 0xfb}, 1, "-0.50", nil},
		{"DECIMAL(5, 2)", []byte{0x05}, -1, "50.00", nil},
		{"DECIMAL(5, 2)", []byte{0x32}, 4, "", ErrDecimalInexact},
		{"DECIMAL(5, 2)", []byte{0x64}, 4, "0.01", nil},
		{"DECIMAL(5, 2)", []byte{0x7f, 0xff, 0xff}, 2, "", ErrDecimalOverflow},
		{"DECIMAL(5, 2)", []byte{0x01}, -40, "", ErrDecimalOverflow},
		{"DECIMAL(5, 2)", []byte{0x01}, 50, "", ErrDecimalInexact},
		{"DECIMAL(5, 2)", []byte{0x00}, 50, "0.00", nil},
		{"DECIMAL(5, 2)", nil, 2, "", ErrDecimalSyntax},
		{"DECIMAL(38, 0)", []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, "", ErrDecimalOverflow},
		{"DECIMAL(38, 0)", append([]byte{1}, make([]byte, 20)...), 0, "", ErrDecimalOverflow},
		{"DECIMAL(38, 0)", append([]byte{1}, make([]byte, 20)...), 1, "", ErrDecimalOverflow},
		{"DECIMAL(38, 0)", append([]byte{1}, make([]byte, 2000)...), 5, "", ErrDecimalInexact},
	} {
		typ := mustType(t, c.typ)
		v := &Vector{Layout: typ.Layout()}
		err := AppendDecimalBytes(v, &typ, c.unscaled, c.scale)
		require.Equal(t, c.err, err, "%x", c.unscaled)
		if err == nil {
			require.Equal(t, c.out, string(AppendDecimal(nil, &typ, v, 0)), "%x", c.unscaled)
		}
	}
	// More than 16 bytes, but zeros at the end.
	typ := mustType(t, "DECIMAL(38, 0)")
	v := &Vector{Layout: Bytes}
	n := new(big.Int).Exp(big.NewInt(10), big.NewInt(60), nil)
	require.NoError(t, AppendDecimalBytes(v, &typ, twosComplement(n), 30))
	require.Equal(t, "1"+strings.Repeat("0", 30), string(AppendDecimal(nil, &typ, v, 0)))

	require.Equal(t, "123.45", string(AppendBigDecimal(nil, []byte{0x30, 0x39}, 2)))
	require.Equal(t, "-0.05", string(AppendBigDecimal(nil, []byte{0xfb}, 2)))
	require.Equal(t, "1200", string(AppendBigDecimal(nil, []byte{12}, -2)))
	require.Equal(t, "0", string(AppendBigDecimal(nil, nil, -2)))
}

// TestDecimalRandom compares with arithmetic on rationals.
func TestDecimalRandom(t *testing.T) {
	r := seeded(t)
	for range 20000 {
		typ := Type{Root: Decimal, Precision: 1 + r.IntN(38)}
		typ.Scale = r.IntN(typ.Precision + 1)
		n, scale := randomInt(r), r.IntN(45)-3
		value := scaled(new(big.Int).Set(n), scale)
		fits := new(big.Rat).Mul(value, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Scale)), nil)))
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Precision)), nil)
		ok := fits.IsInt() && new(big.Int).Abs(fits.Num()).Cmp(limit) < 0
		what := fmt.Sprintf("%s * 10^-%d as %s", n, scale, typ)

		for _, add := range []func(v *Vector) error{
			func(v *Vector) error { return AppendDecimalBytes(v, &typ, twosComplement(n), scale) },
			func(v *Vector) error { return AppendDecimalText(v, &typ, fmt.Appendf(nil, "%se%d", n, -scale)) },
			func(v *Vector) error {
				return AppendDecimalText(v, &typ, AppendBigDecimal(nil, twosComplement(n), scale))
			},
		} {
			v := &Vector{Layout: typ.Layout()}
			err := add(v)
			require.Equal(t, ok, err == nil, "%s: %v", what, err)
			if !ok {
				require.True(t, errors.Is(err, ErrDecimalInexact) || errors.Is(err, ErrDecimalOverflow))
				continue
			}
			require.Equal(t, value.FloatString(typ.Scale), string(AppendDecimal(nil, &typ, v, 0)), what)
		}
	}
}

func randomInt(r *rand.Rand) *big.Int {
	n := new(big.Int)
	for range r.IntN(5) {
		n.Lsh(n, 32)
		n.Or(n, big.NewInt(int64(r.Uint32())))
	}
	for range r.IntN(4) {
		n.Mul(n, big.NewInt(1000))
	}
	if r.IntN(2) == 0 {
		n.Neg(n)
	}
	return n
}

// twosComplement is java.math.BigInteger.toByteArray.
func twosComplement(n *big.Int) []byte {
	if n.Sign() >= 0 {
		return append([]byte{0}, n.Bytes()...)
	}
	size := uint(n.BitLen()/8 + 1)
	return new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 8*size)).Bytes()
}
