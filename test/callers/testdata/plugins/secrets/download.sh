#!/bin/sh
# Called as a downloader: certificate, key, authority, URL. Prints the decrypted file.
exec sops decrypt --input-type yaml --output-type yaml "${4#secrets://}"
