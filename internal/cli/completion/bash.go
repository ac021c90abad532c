// SPDX-License-Identifier: Apache-2.0

package completion

// bashWords stands in for the one function of the package bash-completion that
// the script calls, where that package is not installed: the words of the line,
// with those that bash split at = and : put together again.
const bashWords = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local i=0 word glued='' line=${COMP_LINE:0:COMP_POINT}
        words=() cword=0
        for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
            # A word that does not follow a blank belongs to the one before it.
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
