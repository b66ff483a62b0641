// SPDX-License-Identifier: Apache-2.0
#include "app/common/exportview.h"

#include "app/common/guiapplication.h"
#include "core/trace/timeline.h"
#include "views/common/theme.h"
#include "views/ledger/ledgerview.h"
#include "views/log/logview.h"
#include "views/promises/promisesview.h"
#include "views/timeline/timelineview.h"

#include <QCoreApplication>

#include <fmt/ranges.h>

#include <algorithm>

namespace retro::app
{

namespace
{

using base::Result;

/// What a view hangs on, without a window.
struct Stage
{
    views::Cursor cursor;
    views::Selection selection;
    views::RunModel model{cursor};
};

template <class SomeView>
std::unique_ptr<views::View> make(Stage& stage)
{
    return std::make_unique<SomeView>(stage.model, stage.cursor, stage.selection);
}

struct Exportable
{
    const char* name;
    std::unique_ptr<views::View> (*make)(Stage&);
    QSize size; ///< in pixels, where the request names none
};

const std::vector<Exportable>& exportables()
{
    static const std::vector<Exportable> all = {{"timeline", make<views::TimelineView>, {1200, 340}},
                                                {"ledger", make<views::LedgerView>, {480, 320}},
                                                {"promises", make<views::PromisesView>, {640, 800}},
                                                {"log", make<views::LogView>, {800, 600}}};
    return all;
}

Result<const Exportable*> findView(const std::string& name)
{
    const auto& all = exportables();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Exportable& one) { return name == one.name; });
    if (found == all.end()) {
        return base::usageError(
            fmt::format("there is no view '{}'; choose one of: {}", name, fmt::join(exportableViews(), ", ")),
            "export");
    }
    return &*found;
}

Result<void> checkEnding(const views::View& view, const std::filesystem::path& path)
{
    const QStringList endings = view.exportFormats();
    const QString ending = QString::fromStdString(path.extension().string()).mid(1).toLower();
    if (!endings.contains(ending)) {
        return base::usageError("this view is written as ." + endings.join(QStringLiteral(", .")).toStdString(),
                                path.string());
    }
    return {};
}

/// Puts the theme back that was chosen before.
class ThemeGuard
{
public:
    explicit ThemeGuard(views::ThemeChoice choice) : m_before(views::ThemeHub::instance().choice())
    {
        views::ThemeHub::instance().setChoice(choice);
    }
    ~ThemeGuard() { views::ThemeHub::instance().setChoice(m_before); }
    ThemeGuard(const ThemeGuard&) = delete;
    ThemeGuard& operator=(const ThemeGuard&) = delete;

private:
    views::ThemeChoice m_before;
};

} // namespace

const std::vector<std::string>& exportableViews()
{
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const Exportable& one : exportables()) {
            all.emplace_back(one.name);
        }
        return all;
    }();
    return names;
}

Result<void> exportView(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& path,
                        const ViewRequest& request)
{
    RETRO_TRY(const Exportable* chosen, findView(request.view));
    ensureGuiApplication();
    const ThemeGuard guard(request.isDark ? views::ThemeChoice::Dark : views::ThemeChoice::Light);
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    Stage stage;
    stage.model.setRun({run, std::make_shared<trace::Timeline>(std::move(timeline))});
    stage.cursor.moveTo(std::min(request.position.value_or(run->eventCount()), run->eventCount()));
    const std::unique_ptr<views::View> view = chosen->make(stage);
    RETRO_CHECK(checkEnding(*view, path));
    view->resize(request.width > 0 ? request.width : chosen->size.width(),
                 request.height > 0 ? request.height : chosen->size.height());
    view->show(); // nothing is seen on the offscreen platform
    view->flush();
    QCoreApplication::sendPostedEvents(); // the layout of the body
    return view->exportTo(path);
}

} // namespace retro::app
