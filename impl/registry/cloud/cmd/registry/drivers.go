//go:build cloud

package main

import (
	"github.com/quorate/quorate/impl/registry/cloud"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://
)

func init() {
	for _, scheme := range []string{"s3", "gs", "azblob"} {
		openers[scheme] = cloud.Open
	}
}
