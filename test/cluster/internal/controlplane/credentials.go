// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	clientcmd "k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Files of a cluster's directory, relative to it.
const (
	// AdminKubeconfig is the kubeconfig of a user with all permissions.
	AdminKubeconfig = "kubeconfig"
	// RestrictedKubeconfig is the kubeconfig of RestrictedUser, who has no permissions
	// until a test grants some.
	RestrictedKubeconfig = "restricted.kubeconfig"

	// RestrictedUser is the user name to put into a RoleBinding's subjects.
	RestrictedUser = "moonhelm-restricted"
	// RestrictedGroup is that user's group.
	RestrictedGroup = "moonhelm-restricted"

	caFile        = "ca.crt"
	servingCert   = "apiserver.crt"
	servingKey    = "apiserver.key"
	serviceKey    = "serviceaccount.key"
	servicePublic = "serviceaccount.pub"
	tokenFile     = "tokens.csv"
)

// writeCredentials writes the credentials of a cluster to the current directory: a certificate
// authority without its key, a serving certificate for the loopback address, the key that signs
// service account tokens, the token file and the kubeconfigs that use it.
func writeCredentials(server string) error {
	ca, caKey, err := newCertificate(nil, nil, "moonhelm-test-cluster-ca")
	if err != nil {
		return err
	}
	cert, certKey, err := newCertificate(ca, caKey, "kube-apiserver")
	if err != nil {
		return err
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	certKeyDER, err := x509.MarshalECPrivateKey(certKey)
	if err != nil {
		return err
	}
	signerDER, err := x509.MarshalECPrivateKey(signer)
	if err != nil {
		return err
	}
	signerPub, err := x509.MarshalPKIXPublicKey(&signer.PublicKey)
	if err != nil {
		return err
	}

	caPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
	admin, restricted := token(), token()
	for name, data := range map[string][]byte{
		caFile:        caPEM,
		servingCert:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}),
		servingKey:    pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: certKeyDER}),
		serviceKey:    pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: signerDER}),
		servicePublic: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: signerPub}),
		tokenFile: fmt.Appendf(nil, "%s,moonhelm-admin,admin,\"system:masters\"\n%s,%s,restricted,%q\n",
			admin, restricted, RestrictedUser, RestrictedGroup),
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
	if err := writeKubeconfig(AdminKubeconfig, server, "moonhelm-admin", admin, caPEM); err != nil {
		return err
	}
	return writeKubeconfig(RestrictedKubeconfig, server, RestrictedUser, restricted, caPEM)
}

// newCertificate returns a certificate for the loopback address, signed by parent, or a
// certificate authority if parent is nil.
func newCertificate(parent *x509.Certificate, parentKey *ecdsa.PrivateKey, name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key for %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	tmpl := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(365 * 24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:              []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		BasicConstraintsValid: true,
	}
	if parent == nil {
		tmpl.IsCA, tmpl.KeyUsage = true, x509.KeyUsageCertSign
		tmpl.ExtKeyUsage, tmpl.IPAddresses, tmpl.DNSNames = nil, nil, nil
		parent, parentKey = tmpl, key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// writeKubeconfig writes a kubeconfig with one cluster, one user and one context.
func writeKubeconfig(path, server, user, token string, ca []byte) error {
	const name = "moonhelm-test"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user, Namespace: "default"}
	c.CurrentContext = name
	return clientcmd.WriteToFile(*c, path)
}

func token() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails: it ends the program instead
	return hex.EncodeToString(b)
}
