// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/inspector/slicepicker.h"
#include "views/inspector/valuesmodel.h"
#include "views/inspector/valuesview.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>

#include <cmath>
#include <limits>
#include <set>

using namespace retro;
using namespace retro::views;

namespace
{

tensor::Tensor counting(tensor::Shape shape)
{
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i);
    }
    return tensor::Tensor::of<float>(std::move(shape), values);
}

} // namespace

class ValuesViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void everyElementIsInItsCut()
    {
        TensorSlice slice(tensor::Shape{2, 3, 4, 5});
        QCOMPARE(slice.rows(), 4);
        QCOMPARE(slice.columns(), 5);
        slice.setRowAxis(0);
        slice.setColumnAxis(2);
        for (std::int64_t element = 0; element < 2 * 3 * 4 * 5; ++element) {
            const TensorSlice::Cell cell = slice.show(element);
            QVERIFY(cell.row < slice.rows() && cell.column < slice.columns());
            QCOMPARE(slice.elementAt(cell.row, cell.column), element);
        }
    }

    void controlsTakeMoreRowsInANarrowPane()
    {
        SlicePicker picker;
        picker.setSlice(TensorSlice(tensor::Shape{2, 3, 4, 5, 6}));
        picker.show();
        const auto rowsAt = [&](int width) {
            picker.resize(width, picker.heightForWidth(width));
            QTest::qWait(0);
            std::set<int> tops;
            for (const QWidget* control : picker.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
                if (control->isVisible()) {
                    tops.insert(control->y());
                    if (!picker.rect().contains(control->geometry())) {
                        return -1; // cut off
                    }
                }
            }
            return static_cast<int>(tops.size());
        };
        QCOMPARE(rowsAt(picker.sizeHint().width()), 1);
        QVERIFY(rowsAt(picker.sizeHint().width() * 2 / 3) >= 2);
        QVERIFY(rowsAt(picker.minimumSizeHint().width()) >= 4);
        QVERIFY(picker.minimumSizeHint().width() < picker.sizeHint().width() / 3);
    }

    void axesChangePlaces()
    {
        TensorSlice slice(tensor::Shape{2, 3, 4});
        slice.setRowAxis(2);
        QCOMPARE(slice.rowAxis(), 2);
        QCOMPARE(slice.columnAxis(), 1);
        slice.setIndex(0, 9);
        QCOMPARE(slice.indexOf(0), 1);
        QCOMPARE(TensorSlice(tensor::Shape{7}).rows(), 7);
        QCOMPARE(TensorSlice(tensor::Shape{7}).columns(), 1);
        QCOMPARE(TensorSlice(tensor::Shape{}).rows(), 1);
    }

    void oddElementsAreFoundGoingRound()
    {
        std::vector<float> values(12, 1.0F);
        values[3] = std::numeric_limits<float>::quiet_NaN();
        values[9] = -std::numeric_limits<float>::infinity();
        values[5] = -4;
        const tensor::Tensor tensor = tensor::Tensor::of<float>({3, 4}, values);
        QCOMPARE(nextNonFinite(tensor, -1), std::optional<std::int64_t>(3));
        QCOMPARE(nextNonFinite(tensor, 3), std::optional<std::int64_t>(9));
        QCOMPARE(nextNonFinite(tensor, 9), std::optional<std::int64_t>(3));
        QCOMPARE(largestElement(tensor), std::optional<std::int64_t>(5));
        QVERIFY(!nextNonFinite(counting({2, 2}), -1).has_value());
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(!largestElement(tensor, stop.get_token()).has_value());
    }

    void modelShowsTheCut()
    {
        ValuesModel items;
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const tensor::Tensor tensor = counting({2, 3, 4});
        TensorSlice slice(tensor.shape());
        slice.setIndex(0, 1);
        items.setTensor(tensor, slice);
        QCOMPARE(items.rowCount(), 3);
        QCOMPARE(items.columnCount(), 4);
        QCOMPARE(items.index(2, 3).data().toString(), QStringLiteral("23.00"));
        QCOMPARE(QString::fromStdString(sliceCsv(tensor, slice, {0, 1}, {1, 2})), QStringLiteral("13,14\n17,18\n"));
        items.setTensor({}, {});
        QCOMPARE(items.rowCount(), 0);
    }

    void pickerChoosesTheCut()
    {
        SlicePicker picker;
        picker.setSlice(TensorSlice(tensor::Shape{2, 3, 4}));
        const QSignalSpy chosen(&picker, &SlicePicker::sliceChosen);
        picker.findChildren<QSpinBox*>().front()->setValue(1);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(picker.slice().indexOf(0), 1);
        picker.setSlice(TensorSlice(tensor::Shape{5, 6}));
        QCOMPARE(picker.findChildren<QSpinBox*>().size(), 2);
    }

    void viewFollowsAndFinds()
    {
        tests::TinyContext context;
        ValuesView view(context.model, context.cursor, context.selection);
        view.resize(420, 320);
        view.show();
        context.selection.selectNode(base::NodeId(std::uint32_t{tests::kConv2}));
        view.flush();
        QCOMPARE(view.items().rowCount(), tests::kTinySide);
        view.goToLargest();
        QTRY_VERIFY_WITH_TIMEOUT(!view.isSearching(), 30'000);
        auto* table = view.findChild<QTableView*>();
        const QModelIndex here = table->currentIndex();
        const double largest =
            std::abs(view.items().tensor().at(view.items().slice().elementAt(here.row(), here.column())));
        for (std::int64_t i = 0; i < view.items().tensor().size(); ++i) {
            QVERIFY(std::abs(view.items().tensor().at(i)) <= largest);
        }
        QVERIFY(here.isValid());
        view.goToNonFinite();
        QTRY_VERIFY_WITH_TIMEOUT(!view.isSearching(), 30'000);
        QCOMPARE(table->currentIndex(), here); // there is none
        view.goToNonFinite();
        context.cursor.moveTo(0); // what is looked for is gone
        view.flush();
        QVERIFY(!view.isSearching());
        context.cursor.moveTo(context.cursor.end());
        view.flush();
        table->clearSelection();
        QCOMPARE(view.copiedText().count(QLatin1Char('\n')), tests::kTinySide);
        const QString numpy = view.copiedText(sliceNumpy);
        QVERIFY(numpy.startsWith(QStringLiteral("np.array([[")) && numpy.endsWith(QStringLiteral("]])")));
        QCOMPARE(numpy.count(QLatin1Char('[')), tests::kTinySide + 1);
        context.cursor.moveTo(0);
        view.flush();
        QCOMPARE(view.items().rowCount(), 0);
        QVERIFY(!table->isVisible());
    }

    void exportsAndLooks()
    {
        tests::TinyContext context;
        context.selection.selectNode(base::NodeId(std::uint32_t{tests::kConv2}));
        ValuesView view(context.model, context.cursor, context.selection);
        const QTemporaryDir folder;
        QVERIFY(!view.exportTo(folder.filePath(QStringLiteral("v.csv")).toStdString()).ok());
        view.flush();
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("v.csv")).toStdString()).ok());
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("v.npy")).toStdString()).ok());
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {420, 320}, kind, QStringLiteral("values"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Header]));
        }
    }
};

QTEST_MAIN(ValuesViewTest)
#include "tst_valuesview.moc"
