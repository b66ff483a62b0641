// SPDX-License-Identifier: Apache-2.0
// Tokenisers against what the library `tokenizers` answers. Reads every pair NAME.tokenizer.json, NAME.cases.json of
// $RETROGRADE_GOLDEN/llm/tokenizers, else of tests/data/golden; prints one line for each failure; fails when there is
// no case.
#include "core/base/file.h"
#include "core/text/tokeniser.h"
#include "tests/goldenfiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

namespace retro::text
{

namespace
{

using base::Result;
using nlohmann::json;

constexpr std::uint64_t kMostCaseBytes = 256ULL << 20;

struct Answer
{
    std::vector<std::vector<std::uint32_t>> places;
    std::vector<TokenId> ids;
};

Result<Answer> answerOf(const Tokeniser& tokeniser, const std::string& text, bool withSpecials)
{
    RETRO_TRY(const std::vector<Token> tokens, tokeniser.encode(text, withSpecials));
    Answer answer;
    for (const Token& token : tokens) {
        answer.ids.push_back(token.id);
        answer.places.push_back({token.place.begin, token.place.end});
    }
    return answer;
}

/// What is wrong with a case, in words.
Result<std::vector<std::string>> faultsOf(const Tokeniser& tokeniser, const json& one)
{
    std::vector<std::string> faults;
    const auto check = [&](const char* what, const auto& is) {
        if (one.contains(what) && json(is) != one.at(what)) {
            faults.push_back(fmt::format("{}: is {}, should be {}", what, json(is).dump(), one.at(what).dump()));
        }
    };
    const auto text = one.at("text").get<std::string>();
    RETRO_TRY(const Answer with, answerOf(tokeniser, text, true));
    RETRO_TRY(const Answer without, answerOf(tokeniser, text, false));
    check("ids", with.ids);
    check("ids_without_specials", without.ids);
    check("offsets_in_characters", with.places);
    const auto ids = one.at("ids").get<std::vector<TokenId>>();
    RETRO_TRY(const std::string decoded, tokeniser.decode(ids, true));
    RETRO_TRY(const std::string whole, tokeniser.decode(ids, false));
    check("decoded", decoded);
    check("decoded_with_specials", whole);
    return faults;
}

int failuresOf(const std::filesystem::path& file, std::size_t& cases)
{
    const std::string stem = file.stem().stem().string();
    const auto fail = [&](const std::string& message) {
        std::printf("FAIL %s: %s\n", stem.c_str(), message.c_str());
        return 1;
    };
    const Result<Tokeniser> tokeniser = Tokeniser::read(file.parent_path() / (stem + ".tokenizer.json"));
    const Result<std::string> text = base::readTextFile(file, kMostCaseBytes);
    if (!tokeniser.ok() || !text.ok()) {
        return fail(tokeniser.ok() ? text.error().text() : tokeniser.error().text());
    }
    int failures = 0;
    const json parsed = json::parse(*text);
    for (const json& one : parsed.at("cases")) {
        ++cases;
        const Result<std::vector<std::string>> faults = faultsOf(*tokeniser, one);
        const std::string where = one.at("text").dump(-1, ' ', true);
        if (!faults.ok()) {
            failures += fail(where + ": " + faults.error().text());
            continue;
        }
        for (const std::string& fault : *faults) {
            failures += fail(where + ": " + fault);
        }
    }
    return failures;
}

int run()
{
    int failures = 0;
    std::size_t cases = 0;
    for (const auto& file : tests::goldenFiles(tests::goldenFolder("llm/tokenizers"))) {
        if (file.string().ends_with(".cases.json")) {
            failures += failuresOf(file, cases);
        }
    }
    std::printf("%zu cases, %d failures\n", cases, failures);
    return cases > 0 && failures == 0 ? 0 : 1;
}

} // namespace

} // namespace retro::text

int main() { return retro::text::run(); }
