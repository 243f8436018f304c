//go:build integration

package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority is a certificate authority of the tests' own, with one server's and one client's certificate, in a folder:
// ca.pem, server.crt, server.key, server.pem (both), client.crt, client.key.
type authority struct{ dir string }

func (a authority) path(name string) string { return filepath.Join(a.dir, name) }

func newAuthority(dir string) (authority, error) {
	a := authority{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return a, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sink tests"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return a, err
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return a, err
	}
	if err := os.WriteFile(a.path("ca.pem"), pemBlock("CERTIFICATE", der), 0o600); err != nil {
		return a, err
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		return a, err
	}
	for i, name := range []string{"server", "client"} {
		if err := a.issue(int64(2+i), name, root, rootKey); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a authority) issue(serial int64, name string, root *x509.Certificate, rootKey *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	common := map[string]string{"server": "localhost", "client": "sink"}[name]
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: common}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	certificate, private := pemBlock("CERTIFICATE", der), pemBlock("PRIVATE KEY", keyDER)
	for file, text := range map[string][]byte{
		name + ".crt": certificate, name + ".key": private, name + ".pem": append(append([]byte{}, private...), certificate...),
	} {
		if err := os.WriteFile(a.path(file), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// pool trusts the authority.
func (a authority) pool(t testing.TB) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(a.path("ca.pem"))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	return pool
}
