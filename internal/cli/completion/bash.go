// SPDX-License-Identifier: Apache-2.0

package completion

// bashWords replaces the one function of the package bash-completion that the script calls, if that
// package is not installed. It returns the words of the line, rejoining those that bash splits at =
// and :.
const bashWords = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local i=0 word glued='' line=${COMP_LINE:0:COMP_POINT}
        words=() cword=0
        for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
            # A word without a blank before it continues the previous word.
            if ((i > 0)) && [[ $line != [[:blank:]]* && ($word == [=:]* || $glued == *[=:]) ]]; then
                words[i-1]+=$word
            else
                words[i++]=$word
            fi
            glued=$word
            line=${line#*"$word"}
        done
        cword=$((i - 1)) cur=${words[i-1]} prev=''
        if ((i > 1)); then
            prev=${words[i-2]}
        fi
    }
fi

`
