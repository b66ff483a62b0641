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
    ThemeGuard() : m_before(views::ThemeHub::instance().choice()) {}
    static void use(bool isDark)
    {
        views::ThemeHub::instance().setChoice(isDark ? views::ThemeChoice::Dark : views::ThemeChoice::Light);
    }
    ~ThemeGuard() { views::ThemeHub::instance().setChoice(m_before); }
    ThemeGuard(const ThemeGuard&) = delete;
    ThemeGuard& operator=(const ThemeGuard&) = delete;

private:
    views::ThemeChoice m_before;
};

/// What has been posted to a widget and those inside it, and to nobody else: a window may be open.
void deliverPosted(QWidget& widget)
{
    QCoreApplication::sendPostedEvents(&widget);
    for (QWidget* child : widget.findChildren<QWidget*>()) {
        QCoreApplication::sendPostedEvents(child);
    }
}

Result<void> write(Stage& stage, const ViewRequest& request, const std::filesystem::path& path)
{
    RETRO_TRY(const Exportable* chosen, findView(request.view));
    ThemeGuard::use(request.isDark);
    const std::uint64_t end = stage.model.run().eventCount();
    stage.cursor.moveTo(std::min(request.position.value_or(end), end));
    const std::unique_ptr<views::View> view = chosen->make(stage);
    RETRO_CHECK(checkEnding(*view, path));
    view->resize(request.width > 0 ? request.width : chosen->size.width(),
                 request.height > 0 ? request.height : chosen->size.height());
    view->setAttribute(Qt::WA_DontShowOnScreen);
    view->show();
    view->flush();
    deliverPosted(*view); // the layout of the body
    return view->exportTo(path);
}

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
    RETRO_CHECK(findView(request.view)); // before anything is opened
    ensureGuiApplication();
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    const ViewFile file{request, path};
    return exportViews({run, std::make_shared<trace::Timeline>(std::move(timeline))}, {&file, 1}).front();
}

std::vector<Result<void>> exportViews(const views::RunHandle& run, std::span<const ViewFile> files)
{
    ensureGuiApplication();
    const ThemeGuard guard;
    Stage stage;
    stage.model.setRun(run);
    std::vector<Result<void>> results;
    for (const ViewFile& file : files) {
        results.push_back(write(stage, file.request, file.path));
    }
    return results;
}

} // namespace retro::app
