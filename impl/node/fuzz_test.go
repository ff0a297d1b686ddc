package node

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/quorate/quorate/impl/node/tlstest"
)

// FuzzPEM reads keystores and truststores. A block that was read is read again from one
// line, as a properties file has it.
func FuzzPEM(f *testing.F) {
	a := tlstest.NewAuthority(f, "ca")
	key, chain := a.Issue("n", "h")
	f.Add([]byte(key + chain))
	f.Add([]byte("-----BEGIN RSA PRIVATE KEY-----AA==-----END RSA PRIVATE KEY-----"))
	f.Add([]byte("-----BEGIN CERTIFICATE----- \n-----END CERTIFICATE-----"))
	f.Fuzz(func(t *testing.T, b []byte) {
		pool(b)
		blocks, err := pemBlocks(b)
		if err != nil {
			return
		}
		for _, block := range blocks {
			line := "-----BEGIN " + block.kind + "-----" + base64.StdEncoding.EncodeToString(block.der) + "-----END " + block.kind + "-----"
			again, err := pemBlocks([]byte(line))
			if err != nil || len(again) != 1 || again[0].kind != block.kind || !bytes.Equal(again[0].der, block.der) {
				t.Fatalf("%q: %v, %v", line, again, err)
			}
		}
	})
}

// FuzzDistinguishedName reads names as they stand in certificates.
func FuzzDistinguishedName(f *testing.F) {
	for _, s := range []string{"3000", "300c310a3008060355040a130178", "30463111300f0603550407130820202074776f2020310e300c060355040a0c0523686173683121300c060355040b13056d756c7469301106035504030c0ac3bc626572206d696368"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, der []byte) { distinguishedName(der) })
}

func FuzzClientID(f *testing.F) {
	for _, s := range []string{"quorate-2-1-7", "quorate-1-1-7", "quorate-2-0-7", "quorate-2-1", "raft-client-2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, ok := parseClientID(s, 1); ok {
			again, ok := parseClientID(clientID(c), 1)
			if !ok || again != c {
				t.Fatalf("%q is %+v, and then %+v", s, c, again)
			}
		}
	})
}
