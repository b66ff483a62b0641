// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/fit.h"

#include <fmt/format.h>

#include <optional>

namespace retro::engine
{

using base::Result;

namespace
{

/// Whether it may be the extent alone that cannot be tried.
bool isOfExtent(const base::Error& error)
{
    return error.code == base::ErrorCode::Input || error.code == base::ErrorCode::Memory;
}

/// What is known of the extents around the answer.
class FitSearch
{
public:
    explicit FitSearch(const TryExtent& tryExtent) : m_try(tryExtent) {}

    Result<FitResult> run()
    {
        RETRO_TRY(m_found.at, m_try(1));
        m_found.tries = 1;
        if (!m_found.at.fits) {
            m_found.oneMore = m_found.at;
            return m_found;
        }
        m_found.largest = 1;
        while (!m_above && m_found.largest < kMostExtent) {
            RETRO_CHECK(ask(2 * m_found.largest));
        }
        while (m_above && *m_above - m_found.largest > 1) {
            RETRO_CHECK(ask(m_found.largest + (*m_above - m_found.largest) / 2));
        }
        if (!m_above) {
            m_found.whyNotMore = fmt::format("no extent up to {} fills the budget", kMostExtent);
        }
        return m_found;
    }

private:
    /// Tries an extent above the largest one that fits.
    Result<void> ask(std::int64_t extent)
    {
        ++m_found.tries;
        Result<FitTry> tried = m_try(extent);
        if (!tried.ok() && !isOfExtent(tried.error())) {
            return tried.error();
        }
        if (tried.ok() && tried->fits) {
            m_found.largest = extent;
            m_found.at = *tried;
            return {};
        }
        m_above = extent;
        m_found.oneMore = tried.ok() ? *tried : FitTry();
        m_found.whyNotMore = tried.ok() ? std::string() : tried.error().text();
        return {};
    }

    const TryExtent& m_try;
    FitResult m_found;
    std::optional<std::int64_t> m_above; ///< the least extent that is known not to fit
};

} // namespace

Result<FitTry> tryOne(const TryExtent& tryExtent, std::int64_t extent)
{
    Result<FitTry> tried = tryExtent(extent);
    if (tried.ok() || !isOfExtent(tried.error())) {
        return tried;
    }
    RETRO_CHECK(tryExtent(1));
    FitTry none;
    none.why = tried.error().text();
    return none;
}

Result<FitResult> largestThatFits(const TryExtent& tryExtent) { return FitSearch(tryExtent).run(); }

} // namespace retro::engine
