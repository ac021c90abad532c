#!/bin/sh
echo "$1 of $HELM_PLUGIN_NAME in $(basename "$(pwd -L)")"
