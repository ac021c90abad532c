#!/bin/sh
# label://KEY/VALUE is a document of values.
[ "$1" = '$literal' ] && [ $# -eq 5 ] || { echo "called with $*" >&2; exit 4; }
path=${5#*://}
echo "${path%%/*}: ${path#*/}"
