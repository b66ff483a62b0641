// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace retro::app
{

/// Group of the options that every verb has; it stands last.
inline constexpr const char* kCommonGroup = "General";

/// --help for a terminal of 80 columns: names on the left, sentences on the right, options in groups.
class HelpText final : public CLI::Formatter
{
public:
    std::string make_help(const CLI::App* verb, std::string name, CLI::AppFormatMode mode) const override;
    std::string make_option(const CLI::Option* option, bool isPositional) const override;
    std::string make_option_opts(const CLI::Option* option) const override;
    std::string make_option_desc(const CLI::Option* option) const override;
    std::string make_subcommand(const CLI::App* verb) const override;
};

} // namespace retro::app
