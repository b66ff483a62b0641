// SPDX-License-Identifier: Apache-2.0
#include "core/text/normalforms.h"

#include "core/base/failure.h"
#include "core/text/characterkinds.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <optional>

namespace retro::text
{

namespace
{

constexpr char32_t kFirstDecomposed = 0xA0;

/// ICU's tables; null when its data cannot be had.
const icu::Normalizer2* decomposer(bool isCompatible)
{
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* const table =
        isCompatible ? icu::Normalizer2::getNFKCInstance(status) : icu::Normalizer2::getNFCInstance(status);
    return U_SUCCESS(status) != 0 ? table : nullptr;
}

int classOf(char32_t code)
{
    return code < 0x300 || !isOfNormalisation(code) ? 0 : u_getCombiningClass(static_cast<UChar32>(code));
}

std::vector<Change> decomposed(std::string_view text, const icu::Normalizer2& table)
{
    std::vector<Change> changes;
    changes.reserve(text.size());
    icu::UnicodeString parts;
    std::size_t marks = 0; // where the marks behind the last base character begin
    const auto sortMarks = [&] {
        std::stable_sort(changes.begin() + static_cast<std::ptrdiff_t>(marks), changes.end(),
                         [](const Change& a, const Change& b) { return classOf(a.code) < classOf(b.code); });
    };
    const auto put = [&](char32_t code, bool isFirst) {
        if (classOf(code) == 0) {
            sortMarks();
            marks = changes.size() + 1;
        }
        changes.push_back({code, isFirst ? 0 : 1});
        checkChangedBytes(changes.size());
    };
    for (std::size_t at = 0; at < text.size();) {
        const Character one = characterAt(text, at);
        at += one.bytes;
        if (one.code < kFirstDecomposed || !isOfNormalisation(one.code) ||
            table.getDecomposition(static_cast<UChar32>(one.code), parts) == 0) {
            put(one.code, true);
            continue;
        }
        for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
            put(static_cast<char32_t>(parts.char32At(i)), i == 0);
        }
    }
    sortMarks();
    return changes;
}

std::optional<char32_t> composedPair(char32_t a, char32_t b, const icu::Normalizer2& table)
{
    const UChar32 both =
        b < kFirstDecomposed ? U_SENTINEL : table.composePair(static_cast<UChar32>(a), static_cast<UChar32>(b));
    return both < 0 || !isOfNormalisation(static_cast<char32_t>(both)) ? std::nullopt
                                                                       : std::optional(static_cast<char32_t>(both));
}

std::vector<Change> composed(const std::vector<Change>& parts, const icu::Normalizer2& table)
{
    std::vector<Change> changes;
    changes.reserve(parts.size());
    std::optional<std::size_t> base; // the last character that others may join
    int last = -1;                   // class of the last one that did not
    for (const Change& part : parts) {
        const int its = classOf(part.code);
        if (base && last < (its == 0 ? 0 : its)) {
            if (const auto both = composedPair(changes[*base].code, part.code, table)) {
                changes[*base] = {*both, changes[*base].taken + part.taken - 1};
                continue;
            }
        }
        changes.push_back(part);
        if (its == 0) {
            base = changes.size() - 1;
            last = -1;
        } else {
            last = its;
        }
    }
    return changes;
}

} // namespace

std::vector<Change> changesTo(NormalForm form, std::string_view text)
{
    const icu::Normalizer2* const table = decomposer(form == NormalForm::Kc || form == NormalForm::Kd);
    if (table == nullptr) {
        throw base::Failure(base::engineError("the Unicode tables of ICU cannot be read; install libicu72 again"));
    }
    std::vector<Change> changes = decomposed(text, *table);
    const bool composes = form == NormalForm::C || form == NormalForm::Kc;
    return composes ? composed(changes, *table) : changes;
}

} // namespace retro::text
