//! An op of tensorflow_ext and its gradients; docs/rust.md explains it.

mod tensorflow_ext;

use std::error::Error;

use tensorflow::{Scope, Session, SessionOptions, SessionRunArgs, Tensor, ops};
use tensorflow_ext::RoiPool;

fn main() -> Result<(), Box<dyn Error>> {
    tensorflow_ext::load()?;

    let mut scope = Scope::new_root_scope();
    let data = Tensor::new(&[1, 2, 2, 1]).with_values(&[1.0f32, 4.0, 3.0, 2.0])?;
    let data = ops::constant(data, &mut scope)?;
    let rois = Tensor::new(&[1, 5]).with_values(&[0.0f32, 0.0, 0.0, 16.0, 16.0])?;
    let rois = ops::constant(rois, &mut scope)?;
    let pool = RoiPool::new(1, 1).spatial_scale(1.0 / 16.0);
    let pool = pool.build_instance(data.clone(), rois.clone(), &mut scope)?;

    let xs = [data.into(), rois.into()];
    let ys = [pool.pooled()];
    let gradients = tensorflow_ext::gradients(&ys, &xs, None, &mut scope)?;
    let by_data = gradients[0].clone().ok_or("no gradient for the data")?;
    assert!(gradients[1].is_none());

    // With an upstream gradient.
    let upstream = Tensor::new(&[1, 1, 1, 1]).with_values(&[10.0f32])?;
    let upstream = ops::constant(upstream, &mut scope)?;
    let upstream = [upstream.into()];
    let weighed = tensorflow_ext::gradients(&ys, &xs[..1], Some(&upstream), &mut scope)?;
    let weighed = weighed[0].clone().ok_or("no gradient for the data")?;

    let session = Session::new(&SessionOptions::new(), &scope.graph())?;
    let mut args = SessionRunArgs::new();
    let [y, dx, weighed] = [&pool.pooled(), &by_data, &weighed]
        .map(|output| args.request_fetch(&output.operation, output.index));
    session.run(&mut args)?;
    println!("pooled {:?}", &args.fetch::<f32>(y)?[..]);
    println!("gradient for the data {:?}", &args.fetch::<f32>(dx)?[..]);
    println!(
        "from an upstream gradient {:?}",
        &args.fetch::<f32>(weighed)?[..]
    );
    Ok(())
}
